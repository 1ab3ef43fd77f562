package web

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pinion/runtime/files"

	"github.com/valyala/fasthttp"
)

const (
	examplesFolder = "cog_examples" // in the model's folder
	maxReadme      = 256 << 10      // bytes
	maxLogo        = 256 << 10
	maxExample     = 16 << 20
	maxFiles       = 200 // of the folder of examples
)

// logoType returns the media type of a picture that browsers show as a logo, by its extension, or "" if it is none.
func logoType(name string) string {
	kind := files.MediaType(filepath.Ext(name))
	if slices.Contains([]string{"image/png", "image/jpeg", "image/svg+xml", "image/webp", "image/gif"}, kind) {
		return kind
	}
	return ""
}

// about is what the model's folder tells of the model beside its code. It is read at each request: an edited README
// needs no restart.
type about struct {
	Readme   string   `json:"readme"`
	Logo     string   `json:"logo,omitempty"` // a data URL
	Examples []string `json:"examples"`       // files of cog_examples
}

// PageData returns the routes, by path, from which the page gets what the model's folder tells of the model.
func PageData(o PageOptions) map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{
		"/docs/about":           o.about,
		"/docs/examples/{file}": o.example,
	}
}

func (o PageOptions) about(ctx *fasthttp.RequestCtx) {
	a := about{Examples: []string{}}
	if root, err := os.OpenRoot(o.Dir); err == nil {
		defer root.Close()
		a.Readme = readmeOf(root)
		a.Logo = logoOf(root, o.Logo)
		a.Examples = append(a.Examples, examplesOf(root)...)
	}
	body, err := json.Marshal(a)
	if err != nil {
		ctx.SetStatusCode(fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.Header.Set("Cache-Control", "no-cache")
	ctx.SetBody(body)
}

// Readme returns the text of the README of a model's folder, or "" if there is none, or it is too large.
func Readme(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	return readmeOf(root)
}

func readmeOf(root *os.Root) string {
	for _, name := range names(root, ".") {
		if strings.EqualFold(name, "README.md") {
			return strings.ToValidUTF8(string(read(root, name, maxReadme)), "\uFFFD")
		}
	}
	return ""
}

// logoOf returns a picture of the folder as a data URL, or "" if it cannot be shown.
func logoOf(root *os.Root, name string) string {
	if name == "" || logoType(name) == "" {
		return ""
	}
	content := read(root, filepath.Clean(name), maxLogo)
	if content == nil {
		return ""
	}
	return "data:" + logoType(name) + ";base64," + base64.StdEncoding.EncodeToString(content)
}

// examplesOf returns the names of the files of the folder of examples.
func examplesOf(root *os.Root) (files []string) {
	for _, name := range names(root, examplesFolder) {
		if info, err := root.Stat(filepath.Join(examplesFolder, name)); err == nil && info.Mode().IsRegular() &&
			info.Size() <= maxExample {
			files = append(files, name)
		}
		if len(files) == maxFiles {
			break
		}
	}
	return files
}

// names returns the names in a folder, sorted.
func names(root *os.Root, folder string) []string {
	f, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.Readdirnames(-1)
	if err != nil {
		return nil
	}
	slices.Sort(list)
	return list
}

// read returns the content of a regular file, or nil if it cannot be read, or is larger than limit. Links out of the
// folder are not followed, and a pipe is not waited for.
func read(root *os.Root, name string, limit int64) []byte {
	f, _ := open(root, name, limit)
	if f == nil {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(content)) > limit {
		return nil
	}
	return content
}

// open is read for a file that is read piece by piece; size is how many bytes it has.
func open(root *os.Root, name string, limit int64) (f *os.File, size int) {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, 0
	}
	if f, err = root.Open(name); err != nil {
		return nil, 0
	}
	return f, int(info.Size())
}

// example answers with a file of the folder of examples, as bytes: nothing of it is a page of this server.
func (o PageOptions) example(ctx *fasthttp.RequestCtx) {
	var content *os.File
	var size int
	name, _ := ctx.UserValue("file").(string)
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if root, err := os.OpenRoot(o.Dir); err == nil && name == filepath.Base(name) && name != ".." && name != "." {
		defer root.Close()
		content, size = open(root, filepath.Join(examplesFolder, name), maxExample)
	}
	h := &ctx.Response.Header
	h.Set("X-Content-Type-Options", "nosniff")
	if content == nil {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		ctx.SetContentType("application/json")
		ctx.SetBodyString(`{"detail":"The folder cog_examples has no such file, or it is larger than 16 MiB"}`)
		return
	}
	h.SetContentType("application/octet-stream")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-cache")
	ctx.SetBodyStream(content, size)
}
