package replicate

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/files"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const filePath = "/v1/files/"

// upload answers POST /v1/files: a form with the file content, and its metadata.
func (h *handlers) upload(x *protocol.Exchange) {
	form, err := x.Form()
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	defer form.Body.Release()
	if form.Attachments == nil {
		refuse(x.RequestCtx, invalid("content", "is required: the file, as a part of multipart/form-data"))
		return
	}
	u, err := h.readUpload(form)
	if err == nil && !h.uploads.add(u) {
		err = protocol.Errorf(protocol.Waited, "cannot store the file: all uploaded files are in use")
	}
	if err != nil {
		form.Attachments.Close()
		refuse(x.RequestCtx, err)
		return
	}
	x.Send(contentJSON, appendFile(nil, x, u))
	x.SetStatusCode(fasthttp.StatusCreated)
}

// readUpload reads the fields of a form. Its first file is the content.
func (h *handlers) readUpload(form protocol.Form) (*upload, *protocol.Error) {
	var u *upload
	var metadata []byte
	var name, media string
	for _, f := range form.Fields {
		number, fileName, isFile := predict.ReadPlaceholder(f.Value)
		switch {
		case f.Name == "content" && isFile && number == 0:
			made, err := newUpload(form.Attachments, fileName)
			if err != nil {
				return nil, protocol.Errorf(protocol.Internal, "the uploaded file cannot be read")
			}
			u = made
		case f.Name == "content", isFile && f.Name != "metadata":
			return nil, invalid("content", "must be one file, the first of the form")
		case f.Name == "metadata" && isFile: // as the client for JavaScript sends it
			metadata = readSmall(form.Attachments.Path(number))
		case f.Name == "metadata":
			metadata = f.Value
		case f.Name == "filename":
			name = string(f.Value)
		case f.Name == "type":
			media = string(f.Value)
		}
	}
	if u == nil {
		return nil, invalid("content", "is required: the file, as a part of multipart/form-data")
	}
	if len(metadata) > 0 {
		if len(metadata) > maxMetadata || rawjson.Check(metadata) != nil || rawjson.KindOf(metadata) != rawjson.KindObject {
			return nil, invalid("metadata", "must be a JSON object of at most "+strconv.Itoa(maxMetadata)+" bytes")
		}
		u.metadata = append([]byte(nil), metadata...)
	}
	u.name = logtext.Clip(cmp.Or(name, u.name, "file"))
	u.mediaType = logtext.Clip(cmp.Or(media, files.MediaType(filepath.Ext(u.name)), "application/octet-stream"))
	return u, nil
}

// maxMetadata is how many bytes the metadata of a file may have.
const maxMetadata = 16 << 10

// readSmall reads a file of at most maxMetadata bytes, or one more.
func readSmall(path string) []byte {
	from, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer from.Close()
	text := make([]byte, maxMetadata+1)
	n, _ := from.Read(text)
	return text[:n]
}

// appendFile appends the object of a file.
func appendFile(dst []byte, x *protocol.Exchange, u *upload) []byte {
	jobs := x.Jobs()
	dst = appendMember(append(dst, '{'), "id", u.id)
	dst = appendMember(append(dst, ','), "name", u.name)
	dst = appendMember(append(dst, ','), "content_type", u.mediaType)
	dst = strconv.AppendInt(append(dst, `,"size":`...), u.size, 10)
	dst = appendMember(append(dst, ','), "etag", u.etag)
	dst = appendMember(append(dst, `,"checksums":{`...), "sha256", u.sum)
	dst = appendMember(append(dst, ','), "md5", u.etag)
	dst = append(append(dst, `},"metadata":`...), u.metadata...)
	dst = appendMember(append(dst, ','), "created_at", timestamp(u.created))
	dst = appendMember(append(dst, ','), "expires_at", timestamp(u.created.Add(uploadAge)))
	link := jobs.Address(x.RequestCtx) + signed(jobs, u.link())
	dst = appendMember(append(dst, `,"urls":{`...), "get", link)
	return append(dst, "}}"...)
}

// link returns the path of a file's content. It ends with the file's name, which a server that downloads it gives to
// the model.
func (u *upload) link() string {
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '-') {
			return r
		}
		return '_'
	}, u.name)
	if strings.Trim(name, ".") == "" {
		name = "file"
	}
	return filePath + u.id + "/" + name
}

func (h *handlers) listFiles(x *protocol.Exchange) {
	list := h.uploads.list()
	size := 0 // about; a list that grows would take twice its size
	for i := range list {
		size += len(list[i].metadata) + 2*len(list[i].name) + 1<<10
	}
	dst := append(make([]byte, 0, size), `{"next":null,"previous":null,"results":[`...)
	for i := range list {
		dst = rawjson.Comma(dst, i > 0)
		dst = appendFile(dst, x, &list[i])
	}
	x.Send(contentJSON, append(dst, "]}"...))
}

func (h *handlers) file(x *protocol.Exchange) {
	u := h.uploads.use(x.Param("id"))
	if u == nil {
		refuse(x.RequestCtx, notFound("file", x.Param("id")))
		return
	}
	x.Send(contentJSON, appendFile(nil, x, u))
	h.uploads.release(u)
}

func (h *handlers) deleteFile(x *protocol.Exchange) {
	if !h.uploads.delete(x.Param("id")) {
		refuse(x.RequestCtx, notFound("file", x.Param("id")))
		return
	}
	x.SetStatusCode(fasthttp.StatusNoContent)
}

// download answers with a file's content.
func (h *handlers) download(x *protocol.Exchange) {
	u, err := h.uploads.open(x.Param("id"))
	switch {
	case u == nil && err == nil:
		refuse(x.RequestCtx, notFound("file", x.Param("id")))
		return
	case err != nil:
		refuse(x.RequestCtx, protocol.Errorf(protocol.Internal, "the file cannot be read"))
		return
	}
	file := &predict.OutputFile{Type: u.of.mediaType, Size: u.of.size, Content: u.content}
	x.Response.Header.Set(fasthttp.HeaderContentDisposition, "attachment") // never a page of this origin
	x.SendFile(file, u)
}
