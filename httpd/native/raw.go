package native

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// rawInput returns the input whose content the body of a request is, by its Content-Type: the model's only file that the
// query does not name, or the only one that is required. "" means that the body is no such one.
func (k Collection) rawInput(ctx *fasthttp.RequestCtx) (string, error) {
	if k.kind != predict.KindPrediction || !isContent(ctx.Request.Header.ContentType()) {
		return "", nil
	}
	document, ok := k.placer.Route.Model().LoadOpenAPI()
	if !ok {
		return "", k.placer.Route.Ready()
	}
	signature, err := protocol.ReadSignature(document)
	if err != nil || bytes.Contains(document, []byte(`"x-cog-stream"`)) { // a streamed input has its own octet-stream
		return "", nil
	}
	var names, required []string
	for _, in := range signature.Inputs {
		if in.Value.Kind == protocol.File && !ctx.QueryArgs().Has(in.Name) {
			if names = append(names, in.Name); in.Required {
				required = append(required, in.Name)
			}
		}
	}
	if len(required) == 1 {
		names = required
	}
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	}
	return "", &negotiate.MediaError{Reason: fmt.Sprintf("The body is one file, and this model has several inputs for it, %s: "+
		"send multipart/form-data, or URLs of the others in the query", strings.Join(names, ", "))}
}

// isContent reports whether a Content-Type is that of a file's content.
func isContent(contentType []byte) bool {
	t, _, _ := strings.Cut(strings.ToLower(string(contentType)), ";")
	switch t = strings.TrimSpace(t); t {
	case "application/octet-stream", "application/pdf", "application/zip":
		return true
	}
	main, _, _ := strings.Cut(t, "/")
	return main == "image" || main == "audio" || main == "video" || main == "model" || main == "font"
}

// asForm returns the form that stands for a body which is the content of an input, with the other inputs from the query, and
// its Content-Type.
func asForm(ctx *fasthttp.RequestCtx, name string, content io.Reader) (io.Reader, string) {
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	_ = w.SetBoundary(rand.Text()) // fails for no such text
	for key, value := range ctx.QueryArgs().All() {
		field, _ := w.CreateFormField(string(key)) // fails as the buffer does: never
		_, _ = field.Write(value)
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=""`, name))
	h.Set("Content-Type", string(ctx.Request.Header.ContentType()))
	_, _ = w.CreatePart(h)
	return io.MultiReader(&parts, content, strings.NewReader("\r\n--"+w.Boundary()+"--\r\n")), w.FormDataContentType()
}
