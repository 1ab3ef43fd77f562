package model

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

func TestModel_TitleOfModel(t *testing.T) {
	for _, c := range []struct{ dir, image, want string }{
		{"/home/me/painter", "", "painter"},
		{"/home/me/painter", "r8.im/me/sculptor", "sculptor"},
		{"/src", "localhost:5000/sculptor:v1", "sculptor"},
		{"/src", "me/sculptor@sha256:1234", "sculptor"},
		{"/src", "", "Model"},
		{"/app", "", "Model"},
		{"/", "", "Model"},
	} {
		assert.Equal(t, fmt.Sprintf("%+v", c), (&Model{Dir: c.dir, Image: c.image}).Title(), c.want)
	}
}
