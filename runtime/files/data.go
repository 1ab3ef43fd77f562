package files

import (
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/url"
	"path/filepath"
	"strings"
	"unsafe"
)

func isData(rawURL string) bool {
	return len(rawURL) >= len("data:") && strings.EqualFold(rawURL[:len("data:")], "data:")
}

// saveData writes the content of a data URL (RFC 2397) to a file in folder, and returns its path.
func saveData(folder, rawURL string, most int64) (string, error) {
	head, body, ok := strings.Cut(rawURL[len("data:"):], ",")
	if !ok {
		return "", fmt.Errorf("%w: it has no comma", ErrDataURL)
	}
	media, encoded := cutBase64(head)
	path := filepath.Join(folder, dataName(media))
	var from io.Reader = &percentReader{text: body}
	if encoded {
		if most >= 0 && int64(len(body)/4) > most { // percent escapes may triple the length
			return "", ErrTooLarge
		}
		from = &base64Reader{from: percentReader{text: body}}
	}
	return path, save(path, from, most)
}

// cutBase64 removes ";base64" from the end of a data URL's head.
func cutBase64(head string) (media string, encoded bool) {
	if at := strings.LastIndexByte(head, ';'); at >= 0 && strings.EqualFold(strings.TrimSpace(head[at+1:]), "base64") {
		return head[:at], true
	}
	return head, false
}

// dataName returns the file name for a media type with its parameters; "" is text.
func dataName(media string) string {
	media = strings.TrimSpace(media)
	if media == "" || media[0] == ';' {
		media = "text/plain" + media
	}
	kind, parameters, err := mime.ParseMediaType(media)
	if err != nil {
		kind, parameters, err = mime.ParseMediaType(unescape(media))
	}
	if err != nil {
		kind, _, _ = strings.Cut(media, ";")
	}
	for _, parameter := range []string{"filename", "name"} {
		if name := safeName(unescape(parameters[parameter])); name != "" {
			return withExtension(name, kind)
		}
	}
	return withExtension("", kind)
}

// unescape decodes percent escapes; if one is invalid it returns s.
func unescape(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}

// percentReader decodes percent escapes, and copies all other text.
type percentReader struct{ text string }

func (r *percentReader) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) && r.text != "" {
		if r.text[0] == '%' {
			if c, ok := hexByte(r.text); ok {
				b[n] = c
				n++
				r.text = r.text[3:]
				continue
			}
			b[n] = '%'
			n++
			r.text = r.text[1:]
			continue
		}
		run := r.text[:min(len(r.text), len(b)-n)]
		if at := strings.IndexByte(run, '%'); at >= 0 {
			run = run[:at]
		}
		n += copy(b[n:], run)
		r.text = r.text[len(run):]
	}
	if n == 0 && r.text == "" {
		return 0, io.EOF
	}
	return n, nil
}

// hexByte reads "%41".
func hexByte(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	var c byte
	for _, d := range []byte(s[1:3]) {
		switch {
		case d >= '0' && d <= '9':
			c = c<<4 | (d - '0')
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			c = c<<4 | (d | 0x20 - 'a' + 10)
		default:
			return 0, false
		}
	}
	return c, true
}

// base64Reader decodes the variants of base64 that clients send: with any padding, with white space, in the standard or
// the URL alphabet.
type base64Reader struct {
	from percentReader

	symbols [chunk]byte // normalized, not yet decoded
	have    int
	decoded [chunk]byte
	ready   []byte // decoded, not yet read
	padding int
	done    bool
	odd     bool // the standard decoder cannot read the text
}

const chunk = 32 << 10 // a multiple of 4

func (r *base64Reader) Read(b []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.done {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// fill decodes the next chunk.
func (r *base64Reader) fill() error {
	// Fast path: nearly always the standard decoder can read the URL. The end, with its padding, takes the slow path.
	if text := r.from.text; !r.odd && len(text) > chunk {
		n, err := base64.RawStdEncoding.Decode(r.decoded[:], unsafe.Slice(unsafe.StringData(text), chunk))
		if err == nil && n == chunk/4*3 {
			r.ready = r.decoded[:n]
			r.from.text = text[chunk:]
			return nil
		}
		r.odd = true
	}
	for r.have < chunk {
		n, err := r.from.Read(r.symbols[r.have:])
		clean, bad := r.clean(r.symbols[r.have : r.have+n])
		if bad {
			return fmt.Errorf("%w: its base64 has a character that does not belong there", ErrDataURL)
		}
		r.have += clean
		if err == io.EOF {
			r.done = true
			break
		}
		if err != nil {
			return err
		}
	}
	if r.done && (r.have%4 == 1 || r.have%4 == 2 && r.padding == 1) {
		return fmt.Errorf("%w: its base64 ends too early", ErrDataURL)
	}
	n, err := base64.RawStdEncoding.Decode(r.decoded[:], r.symbols[:r.have])
	if err != nil {
		return fmt.Errorf("%w: its base64 has a character that does not belong there", ErrDataURL)
	}
	r.ready = r.decoded[:n]
	r.have = 0
	return nil
}

// clean reduces b to symbols of the standard alphabet, and returns how many there are.
func (r *base64Reader) clean(b []byte) (n int, bad bool) {
	for _, c := range b {
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f':
			continue
		case c == '=':
			r.padding++
			continue
		case r.padding > 0:
			return 0, true
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		}
		b[n] = c
		n++
	}
	return n, false
}
