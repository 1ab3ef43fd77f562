package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// File is one file of weights.
type File struct {
	Path   string `json:"path"` // below the target, with slashes
	Size   int64  `json:"size"` // in bytes; -1 if unknown
	Digest string `json:"digest"`
}

const digestPrefix = "sha256:"

// isDigest reports whether a text is a digest: "sha256:" and 64 lower-case hexadecimal digits.
func isDigest(text string) bool {
	digits, is := strings.CutPrefix(text, digestPrefix)
	return is && IsSHA256(digits)
}

// IsSHA256 reports whether a text is a SHA-256 in lower-case hexadecimal digits.
func IsSHA256(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*sha256.Size && strings.ToLower(text) == text
}

// SetDigest returns the digest of a set of files, as Cog computes it: of the sorted lines "HEX  PATH", with line breaks
// between them.
func SetDigest(files []File) string {
	lines := make([]string, 0, len(files))
	for _, f := range files {
		lines = append(lines, strings.TrimPrefix(f.Digest, digestPrefix)+"  "+f.Path)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return digestPrefix + hex.EncodeToString(sum[:])
}

// digestOf returns the digest of a file's content, and its size.
func digestOf(name string) (digest string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	sum := sha256.New()
	if size, err = io.CopyBuffer(sum, f, make([]byte, copyBuffer)); err != nil {
		return "", 0, err
	}
	return digestPrefix + hex.EncodeToString(sum.Sum(nil)), size, nil
}

// copyBuffer is how many bytes are read at once.
const copyBuffer = 1 << 20

// checkPath refuses the path of a file that would leave its folder, or that no file can have.
func checkPath(name string) error {
	switch {
	case name == "" || name == "." || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, "../"):
		return fmt.Errorf("the path %.200q leaves the folder of the weights, or names none of its files", name)
	case name == "..":
		return fmt.Errorf("the path %q leaves the folder of the weights", name)
	case name == cogFolder || strings.HasPrefix(name, cogFolder+"/"):
		return fmt.Errorf("the path %.200q belongs to the markers of what is there", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the path %.200q has a control character", name)
	}
	return nil
}
