# The formula of Homebrew on Linux. A release fills in its version, address and checksums.
class Pinion < Formula
  desc "Serve a Python machine-learning model over HTTP with Cog's prediction API"
  homepage "@HOME@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "@URL@/pinion_@VERSION@_linux_amd64.tar.gz"
    sha256 "@SHA256_AMD64@"
  end
  on_arm do
    url "@URL@/pinion_@VERSION@_linux_arm64.tar.gz"
    sha256 "@SHA256_ARM64@"
  end

  def install
    bin.install "pinion", "pinion-nats"
    bash_completion.install "completions/pinion.bash" => "pinion"
    zsh_completion.install "completions/_pinion"
    fish_completion.install "completions/pinion.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pinion version")
  end
end
