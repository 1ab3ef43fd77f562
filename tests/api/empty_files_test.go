package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// optionalFiles says which of its files it got.
const optionalFiles = `
from typing import List, Optional
from cog import BaseRunner, File, Input, Path

class Runner(BaseRunner):
    def run(
        self,
        image: Optional[Path] = None,
        mask: Optional[Path] = Input(default=None),
        sound: Optional[File] = None,
        more: Optional[List[Path]] = None,
    ) -> str:
        return f"{image} {mask} {sound} {more}"

class Needs(BaseRunner):
    def run(self, image: Path, more: List[Path] = []) -> str:
        return image.read_text()
`

// TestEmptyFiles_EmptyTextIsNoFile: web forms send it where nothing was chosen.
func TestEmptyFiles_EmptyTextIsNoFile(t *testing.T) {
	t.Parallel()
	const none = "None None None None"
	dir := harness.NewFolder(t, "run.py", optionalFiles)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner"})
	for _, body := range []string{
		`{"image":"","mask":"","sound":"","more":""}`,
		`{"image":null,"more":[""]}`,
		`{"image":"","unknown":1}`,
	} {
		assert.Equal(t, body+": the function got", s.Create(`{"input":`+body+`}`).Text(t), none)
	}
	form, contentType := formOf(t, part{"image", "", ""}, part{"sound", "", ""}, part{"more", "", ""})
	assert.Equal(t, "by a form the function got", s.Create(form, "Content-Type", contentType).Text(t), none)
	assert.Equal(t, "by MessagePack the function got",
		s.Create("\x81\xa5input\x82\xa5image\xa0\xa4more\x91\xa0", "Content-Type", "application/msgpack").Text(t), none)
	assert.Equal(t, "pinion predict: the function got",
		strings.TrimSpace((harness.CLI{Dir: dir}.Good(t, "predict", "-i", "image=", "-i", "more=", "--predictor",
			"run.py:Runner"))),
		none)
}

// TestEmptyFiles_EmptyTextIsRefusedWhereFileIsNeeded: neither does it replace a default.
func TestEmptyFiles_EmptyTextIsRefusedWhereFileIsNeeded(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", optionalFiles), Model: "run.py:Needs"})
	for body, field := range map[string]string{
		`{"input":{"image":""}}`:                       "image",
		`{"input":{"image":"data:,a","more":""}}`:      "more",
		`{"input":{"image":"data:,a","more":[""]}}`:    "more/0",
		`{"input":{"image":"data:,a","more":["",""]}}`: "more/0",
	} {
		a := s.Create(body)
		assert.True(t, a.Code == http.StatusUnprocessableEntity && problems(t, a)[0].Loc[2] == field,
			"%s is answered %s, want Code 422 and Loc[2] %q", body, a, field)
	}
}
