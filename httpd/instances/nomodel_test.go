package instances

import (
	"testing"

	"pinion/httpd/protocol"
)

// TestDefaultModel_OfNone: a gateway may have no model yet, and a server that SageMaker fills has none at its start.
func TestDefaultModel_OfNone(t *testing.T) {
	none := protocol.Several(func() []*protocol.Model { return nil })
	if m, err := defaultModel(none); m != nil || err == nil || err.Kind != protocol.NotReady {
		t.Errorf("got model %v and error %v, want none and an error of kind NotReady", m, err)
	}
	if _, err := none.Find("ocr", ""); err == nil || err.Message != `unknown model "ocr": this server has none` {
		t.Errorf(`got %v, want the error that this server has none`, err)
	}
}
