package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// matchJSON compares a JSON document with one in which strings that begin with $ stand for more than themselves.
func matchJSON(t testing.TB, what string, got []byte, want json.RawMessage) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Errorf("%s: got %v, want no error in %.500s", what, err, got)
		return
	}
	harness.FromJSON(t, want, &w)
	problem := match(g, w)
	assert.True(t, problem == "", "%s: %s\n got %.1000s\nwant %.1000s", what, problem, got, want)
}

// match returns what keeps a JSON value from being the one wanted, "" where nothing does. Wanted may be:
//
//	$any                  anything that is there
//	$len N                a text of N characters, or a list of N items
//	$re EXPRESSION        a text in which that is found
//	$text CONTENT         a data: URL with this text in it
//	$file TYPE|TYPE [N]   a data: URL of one of these media types, and of N bytes
//	$png WxH              a data: URL with a PNG of this size
//
// Numbers differ by 0.0002 of themselves at most where neither is whole: libraries differ in their last digits.
func match(got, want any) string {
	switch w := want.(type) {
	case string:
		if strings.HasPrefix(w, "$") {
			return matchSpecial(got, w)
		}
	case float64:
		if g, ok := got.(float64); ok && (g == w || math.Abs(g-w) <= 2e-4*math.Abs(w) && g != math.Trunc(g)) {
			return ""
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%.200v is not a list of %d", got, len(w))
		}
		for i := range w {
			if problem := match(g[i], w[i]); problem != "" {
				return fmt.Sprintf("[%d]: %s", i, problem)
			}
		}
		return ""
	case map[string]any:
		return matchObject(got, w)
	}
	if got == want {
		return ""
	}
	return fmt.Sprintf("%.200v, want %.200v", got, want)
}

func matchObject(got any, want map[string]any) string {
	g, ok := got.(map[string]any)
	if !ok || len(g) != len(want) {
		return fmt.Sprintf("%.200v is not an object with %d members", got, len(want))
	}
	for name, value := range want {
		pattern, there := g[name]
		if !there {
			return fmt.Sprintf("no %q", name)
		}
		if problem := match(pattern, value); problem != "" {
			return fmt.Sprintf(".%s: %s", name, problem)
		}
	}
	return ""
}

func matchSpecial(got any, want string) string {
	kind, argument, _ := strings.Cut(want, " ")
	text, isText := got.(string)
	switch kind {
	case "$any":
		return ""
	case "$len":
		length := -1
		if list, ok := got.([]any); ok {
			length = len(list)
		} else if isText {
			length = utf8.RuneCountInString(text)
		}
		if strconv.Itoa(length) != argument {
			return fmt.Sprintf("its length is %d, want %s", length, argument)
		}
		return ""
	case "$re":
		if isText && regexp.MustCompile(argument).MatchString(text) {
			return ""
		}
		return fmt.Sprintf("%q does not match %s", got, argument)
	}
	media, content, err := readDataURL(text)
	if err != nil {
		return err.Error()
	}
	switch kind {
	case "$text":
		if string(content) != argument {
			return fmt.Sprintf("the file has %.200q, want %q", content, argument)
		}
		return ""
	case "$file":
		types, size, sized := strings.Cut(argument, " ")
		if !strings.Contains("|"+types+"|", "|"+media+"|") || sized && size != strconv.Itoa(len(content)) {
			return fmt.Sprintf("a file of type %s with %d bytes, want %s", media, len(content), argument)
		}
		return ""
	case "$png":
		picture, err := png.Decode(bytes.NewReader(content))
		if err != nil || media != "image/png" {
			return fmt.Sprintf("%s, %v", media, err)
		}
		if size := fmt.Sprintf("%dx%d", picture.Bounds().Dx(), picture.Bounds().Dy()); size != argument {
			return fmt.Sprintf("a picture of %s, want %s", size, argument)
		}
		return ""
	}
	return "unknown: " + want
}

func readDataURL(text string) (media string, content []byte, err error) {
	head, body, ok := strings.Cut(text, ",")
	media, isURL := strings.CutPrefix(head, "data:")
	if !ok || !isURL {
		return "", nil, fmt.Errorf("invalid data URL %.100q", text)
	}
	plain, encoded := strings.CutSuffix(media, ";base64")
	media, _, _ = strings.Cut(plain, ";")
	if !encoded {
		unescaped, err := url.PathUnescape(body)
		return media, []byte(unescaped), err
	}
	content, err = base64.StdEncoding.DecodeString(body)
	return media, content, err
}

// matchText compares a text with one that may be given as "$re …", or as several that may be, between bars.
func matchText(got, want string) bool {
	if expression, ok := strings.CutPrefix(want, "$re "); ok {
		return regexp.MustCompile(expression).MatchString(got)
	}
	for _, option := range strings.Split(want, "|") {
		if got == option {
			return true
		}
	}
	return false
}
