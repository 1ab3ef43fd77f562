package files

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

func TestData_URLs(t *testing.T) {
	s := newStore(t, Options{})
	big := strings.Repeat("0123456789abcdef\x00\xff", 50_000)
	encoded := base64.StdEncoding.EncodeToString([]byte(big))
	wrapped := strings.Join(split(encoded, 76), "\r\n")
	for _, test := range []struct{ url, name, content string }{
		{"data:,", "file.txt", ""},
		{"data:,hello", "file.txt", "hello"},
		{"data:,A%20brief%20note%2C%20%C3%A9", "file.txt", "A brief note, é"},
		{"data:,100%,%4,%zz,+", "file.txt", "100%,%4,%zz,+"},
		{"data:text/plain,raw é #1", "file.txt", "raw é #1"},
		{"data:text/html;charset=utf-8,<p>a</p>", "file.html", "<p>a</p>"},
		{"data:;charset=utf-8,x", "file.txt", "x"},
		{"data:text/plain;charset=iso-8859-7,%be%fg%be", "file.txt", "\xbe%fg\xbe"},
		{"data:text/csv;x=%22a%3Bb%22,1", "file.csv", "1"},
		{"data:image/png;base64,iVBORw==", "file.png", "\x89PNG"},
		{"data:IMAGE/JPEG;BASE64,iVBORw", "file.jpg", "\x89PNG"},
		{"DATA:;base64,YQ==", "file.txt", "a"},
		{"data:base64,YQ==", "file", "YQ=="},
		{"data:;base64,", "file.txt", ""},
		{"data:; base64 ,YWI=", "file.txt", "ab"},
		{"data:text/plain;charset=utf-8;base64,YWJj", "file.txt", "abc"},
		{"data:;base64,YW%4aj", "file.txt", "abc"},
		{"data:;base64,Y W\tJ\nj\r\n", "file.txt", "abc"},
		{"data:;base64,YQ%3D%3D", "file.txt", "a"},
		{"data:;base64,YQ===", "file.txt", "a"},
		{"data:;base64,aGk==", "file.txt", "hi"},
		{"data:;base64,aGkh=", "file.txt", "hi!"},
		{"data:;base64,-_-_", "file.txt", "\xfb\xff\xbf"},
		{"data:;base64,+/+/", "file.txt", "\xfb\xff\xbf"},
		{"data:;base64,%2B%2F-_", "file.txt", "\xfb\xff\xbf"},
		{"data:application/octet-stream;base64," + encoded, "file.bin", big},
		{"data:;base64," + wrapped, "file.txt", big},
		{"data:;base64," + encoded[:500_001] + "\n" + encoded[500_001:], "file.txt", big}, // odd only later on
		{
			"data:;base64," + encoded[:500_001] + "%" + fmt.Sprintf("%02x", encoded[500_001]) + encoded[500_002:], "file.txt",
			big,
		},
		{"data:;base64," + url.QueryEscape(encoded), "file.txt", big},
		{"data:," + url.PathEscape(big), "file.txt", big},
		{"data:application/x-unheard-of,x", "file", "x"},
		{"data:not a type,x", "file", "x"},
		{"data:image/png;name=cat.png;base64,YQ==", "cat.png", "a"},
		{"data:image/png;filename=my%20cat,x", "my cat.png", "x"},
		{"data:text/plain;name=..%2F..%2Fx.sh,x", "_.._x.sh", "x"},
		{"data:model/gltf-binary,x", "file.glb", "x"},
	} {
		paths, contents := fetched(t, s, test.url)
		shown := test.url[:min(len(test.url), 80)]
		assert.Equal(t, shown, contents[0], test.content)
		assert.Equal(t, shown, filepath.Base(paths[0]), test.name)
	}
}

func split(s string, n int) (parts []string) {
	for len(s) > n {
		parts = append(parts, s[:n])
		s = s[n:]
	}
	return append(parts, s)
}

func TestData_Refused(t *testing.T) {
	s := newStore(t, Options{MaxFile: 1000})
	for _, test := range []struct {
		url, message string
		cause        error
	}{
		{
			"data:;base64,YQ=", "cannot fetch data:,… for input \"x/0\": the data URL is invalid: its base64 ends too early",
			ErrDataURL,
		},
		{"data:image/png;base64,Y", "cannot fetch data:image/png,… for input \"x/0\": the data URL is invalid: its base64 ends too early", ErrDataURL},
		{"data:;base64,YWJjZ", "", ErrDataURL},
		{"data:;base64,YQ==YQ==", "", ErrDataURL},
		{"data:;base64,Y!Jj", "cannot fetch data:,… for input \"x/0\": the data URL is invalid: its base64 has a character that does not belong there", ErrDataURL},
		{"data:;base64,YWé", "", ErrDataURL},
		{"data:;base64,%00%00%00%00", "", ErrDataURL},
		{"data:;base64," + strings.Repeat("QUJD", 20_000) + "!", "", ErrTooLarge},
		{"data:," + strings.Repeat("x", 1001), "", ErrTooLarge},
		{"data:;base64," + base64.StdEncoding.EncodeToString(make([]byte, 1001)), "", ErrTooLarge},
		{"data:" + strings.Repeat("secret", 100) + ";base64,!", "", ErrDataURL},
	} {
		err := refused(t, s, test.url)
		shown := test.url[:min(len(test.url), 80)]
		assert.True(t, errors.Is(err, test.cause) && (test.message == "" || err.Error() == test.message),
			"%s: %v, want error test.cause and err %q", shown, err, test.message)
		assert.True(t, len(err.Error()) <= 300 && !strings.Contains(err.Error(), "QUJD"),
			`%s: the message shows too much: %v, want len(err) at most 300 bytes and err without "QUJD"`, shown, err)
	}
	late := "data:;base64," + strings.Repeat("QUJD", 50_000) + "!" + strings.Repeat("QUJD", 50_000)
	assert.ErrorIs(t, "a fault at the end", refused(t, newStore(t, Options{}), late), ErrDataURL)
	_, err := saveData(t.TempDir(), "data:text/plain", -1)
	assert.ErrorIs(t, "no comma", err, ErrDataURL)
}

func TestData_Redact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:p@a.b/c/d.png?q=1#f":           "https://a.b/c/d.png",
		"https://a.b/%2F%20":                      "https://a.b/%2F%20",
		"http://[::1?secret":                      "(a URL that can't be read)",
		"data:image/png;base64,AAAA":              "data:image/png,…",
		"data:text/plain,secret":                  "data:text/plain,…",
		"https://a.b/" + strings.Repeat("é", 300): "https://a.b/" + strings.Repeat("%C3%A9", 31) + "%C…",
	} {
		assert.Equal(t, "redact("+raw, redact(raw), want)
	}
	assert.Equal(t, "cut", logtext.Clip(strings.Repeat("é", 150)+"x"), strings.Repeat("é", 100)+"…")
	assert.Equal(t, "cut", logtext.Clip("x"+strings.Repeat("é", 150)), "x"+strings.Repeat("é", 99)+"…")
}

func FuzzSafeName(f *testing.F) {
	for _, seed := range []string{
		"a.png", "../..", "\x00", strings.Repeat("é", 100) + ".x", "a/b\\c", "\u202egpj", ". . .a", strings.Repeat(".a", 200),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		safe := safeName(name)
		if safe == "" {
			return
		}
		if len(safe) > maxName || !utf8.ValidString(safe) || strings.ContainsAny(safe, "/\\\x00\n\x1b\u202e") ||
			safe[0] == '.' || safe[0] == ' ' {
			t.Errorf("safeName(%q) = %q, want a name of at most %d bytes that no shell or terminal reads otherwise", name, safe,
				maxName)
		}
		assert.Equal(t, "safeName("+name+" then", safeName(safe), safe)
	})
}

// FuzzData checks that encoded content is decoded again, and that nothing else is accepted as base64.
func FuzzData(f *testing.F) {
	f.Add([]byte("abc"), "image/png;x=y", true)
	f.Add([]byte{0, 0xff, '%'}, ";charset=,", false)
	f.Add([]byte("YQ==="), "", true)
	f.Fuzz(func(t *testing.T, content []byte, media string, encode bool) {
		media = strings.ReplaceAll(media, ",", "")
		if !encode && strings.EqualFold(strings.TrimSpace(media[strings.LastIndexByte(media, ';')+1:]), "base64") {
			return
		}
		body := url.PathEscape(string(content))
		if encode {
			body = base64.StdEncoding.EncodeToString(content)
			media += ";base64"
		}
		folder := t.TempDir()
		path, err := saveData(folder, "data:"+media+","+body, -1)
		assert.TrueNow(t, err == nil, "saveData(%q, %q): got %v, want no error", media, body, err)
		got, err := os.ReadFile(path)
		assert.TrueNow(t, err == nil && bytes.Equal(got, content) && filepath.Dir(path) == folder,
			"saveData(%q, %q) = %q in %s, %v, want %q and Dir %q", media, body, got, path, err, content, folder)
		// The content itself as base64: either an error, or what the standard library reads.
		path, err = saveData(t.TempDir(), "data:;base64,"+string(content), -1)
		if err != nil {
			if !errors.Is(err, ErrDataURL) {
				t.Fatal(err)
			}
			return
		}
		var symbols []byte
		for _, c := range []byte(percentDecoded(string(content))) {
			if !strings.ContainsRune(" \t\r\n\f=", rune(c)) {
				symbols = append(symbols, c)
			}
		}
		want, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(string(symbols)))
		got, _ = os.ReadFile(path)
		assert.TrueNow(t, err == nil && bytes.Equal(got, want), "base64 %q = %q, want %q (%v)", content, got, want, err)
	})
}

// percentDecoded returns the plain way to do what percentReader does.
func percentDecoded(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if c, ok := hexByte(s[i:]); s[i] == '%' && ok {
			out = append(out, c)
			i += 2
		} else {
			out = append(out, s[i])
		}
	}
	return string(out)
}

func BenchmarkData(b *testing.B) {
	body := "data:image/png;base64," + base64.StdEncoding.EncodeToString(make([]byte, 7_500_000))
	b.SetBytes(int64(len(body)))
	folder := b.TempDir()
	for b.Loop() {
		path := assert.Must(saveData(folder, body, -1))(b)
		assert.NoError(b, os.Remove(path))
	}
}
