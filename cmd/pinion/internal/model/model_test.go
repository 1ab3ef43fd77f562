package model

import "testing"

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
		if got := (&Model{Dir: c.dir, Image: c.image}).Title(); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
