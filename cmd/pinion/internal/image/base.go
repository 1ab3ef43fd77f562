package image

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pinion/runtime/nearest"
)

// base is the image that the Dockerfile starts from.
type base struct {
	image string
	why   string
}

// cudaImage is a release of nvidia/cuda with Ubuntu 22.04 or newer. A binary that is built there may want its C
// library.
type cudaImage struct{ minor, patch, cudnn, ubuntu string }

// tag returns its name; from 12.4 on images have the one cuDNN of their time and do not name it.
func (c cudaImage) tag() string {
	number := c.cudnn
	if slices.Contains([]string{"12.4", "12.5", "12.6", "12.8", "12.9", "13.0"}, c.minor) {
		number = ""
	}
	return fmt.Sprintf("nvidia/cuda:%s-cudnn%s-runtime-ubuntu%s", c.patch, number, c.ubuntu)
}

// cudaImages returns the newest patches of each minor version, oldest first, with the cuDNN that they have.
func cudaImages() []cudaImage {
	return []cudaImage{
		{"11.7", "11.7.1", "8", "22.04"},
		{"11.8", "11.8.0", "8", "22.04"},
		{"12.0", "12.0.1", "8", "22.04"},
		{"12.1", "12.1.1", "8", "22.04"},
		{"12.2", "12.2.2", "8", "22.04"},
		{"12.3", "12.3.2", "9", "22.04"},
		{"12.4", "12.4.1", "9", "22.04"},
		{"12.5", "12.5.1", "9", "22.04"},
		{"12.6", "12.6.3", "9", "24.04"},
		{"12.8", "12.8.1", "9", "24.04"},
		{"12.9", "12.9.1", "9", "24.04"},
		{"13.0", "13.0.1", "9", "24.04"},
	}
}

// defaultCUDA is the version for a model that asks for a GPU and for nothing else.
const defaultCUDA = "12.8"

// bringsCUDA finds a package whose wheels bring CUDA's libraries, so that the base needs none.
var bringsCUDA = pattern(`(?i)^(torch|torchvision|torchaudio|vllm|sglang|jax\[cuda[^]]*\]|tensorflow\[and-cuda\]|nvidia-cudnn-cu[0-9]+)([^a-z0-9_-]|$)`)

func (p *Plan) chooseBase(add reporter) {
	b := p.build
	switch {
	case p.Base != "":
		p.base = base{p.Base, "as --base says"}
	case !b.GPU && b.CUDA.Value+b.CUDNN.Value == "":
		p.base = p.plainBase("no GPU")
	case b.CUDA.Value+b.CUDNN.Value == "" && p.hasPackage(bringsCUDA()):
		p.base = p.plainBase("the packages bring CUDA's libraries, and the driver comes from the host")
	default:
		p.chooseCUDA(add)
	}
}

// plainBase returns an image without CUDA. There is one for each minor version of Python, but not for each patch.
func (p *Plan) plainBase(why string) base {
	if strings.Count(p.python, ".") > 1 {
		return base{"debian:bookworm-slim", why + "; uv brings Python " + p.python}
	}
	return base{"python:" + p.python + "-slim", why}
}

func (p *Plan) chooseCUDA(add reporter) {
	images := cudaImages()
	asked, cudnn := p.build.CUDA, strings.Split(p.build.CUDNN.Value, ".")[0]
	minor := strings.Join(strings.SplitN(asked.Value, ".", 3)[:min(2, strings.Count(asked.Value, ".")+1)], ".")
	var minors []string
	var found *cudaImage
	for i, image := range slices.Backward(images) {
		minors = append(minors, image.minor)
		fits := asked.Value == "" &&
			(cudnn == "" && image.minor == defaultCUDA || cudnn == image.cudnn && (cudnn != "9" || image.minor == defaultCUDA))
		if found == nil && (fits || minor == image.minor) {
			found = &images[i]
		}
	}
	slices.Reverse(minors)
	const own = "or choose the base image yourself by --base"
	switch {
	case found == nil && asked.Value != "":
		fix := fmt.Sprintf("write one of %s, %s", strings.Join(minors, ", "), own)
		if near := nearest.Word(minor, minors); near != "" && strings.HasPrefix(near, strings.Split(minor, ".")[0]+".") {
			fix = fmt.Sprintf("write %q or another of %s, %s", near, strings.Join(minors, ", "), own)
		}
		add(asked.Line, fmt.Sprintf("build.cuda: NVIDIA has no image of CUDA %s with Ubuntu 22.04 or newer", asked.Value),
			fix)
	case found == nil:
		add(p.build.CUDNN.Line, fmt.Sprintf("build.cudnn: no image has cuDNN %s", p.build.CUDNN.Value),
			`write "8" or "9", `+own)
	case cudnn != "" && cudnn != found.cudnn:
		add(p.build.CUDNN.Line, fmt.Sprintf("build.cudnn: the image for CUDA %s has cuDNN %s, not %s", found.minor,
			found.cudnn, p.build.CUDNN.Value),
			fmt.Sprintf("write %q, %s", found.cudnn, own))
	default:
		p.base = base{found.tag(), "CUDA " + found.patch + " with cuDNN " + found.cudnn}
	}
}

// hasPackage reports whether a requirement of cog.yaml or of its requirements files matches.
func (p *Plan) hasPackage(name *regexp.Regexp) bool {
	lines := Requirements(filepath.Join(p.root, filepath.FromSlash(p.below)), p.build)
	return slices.ContainsFunc(lines, func(line Requirement) bool { return name.MatchString(line.Value) })
}
