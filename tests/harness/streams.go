package harness

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/assert"
)

// JetStream returns a connection to NATS as its operator has it.
func JetStream(t testing.TB, at *NATS) jetstream.JetStream {
	t.Helper()
	nc := assert.Must(nats.Connect(at.Operator()))(t)
	t.Cleanup(nc.Close)
	return assert.Must(jetstream.New(nc))(t)
}

// DeleteStream deletes a stream, as an operator may. restore makes it again, with its consumers.
func DeleteStream(t testing.TB, at *NATS, name string) (restore func()) {
	t.Helper()
	js := JetStream(t, at)
	stream := assert.Must(js.Stream(t.Context(), name))(t)
	config := stream.CachedInfo().Config
	var consumers []jetstream.ConsumerConfig
	for info := range stream.ListConsumers(t.Context()).Info() {
		if !strings.HasPrefix(info.Name, "_") && info.Config.Durable != "" {
			consumers = append(consumers, info.Config)
		}
	}
	assert.NoError(t, js.DeleteStream(t.Context(), name))
	return func() {
		t.Helper()
		_, err := js.CreateStream(t.Context(), config)
		assert.NoError(t, err)
		for _, c := range consumers {
			_, err := js.CreateConsumer(t.Context(), name, c)
			assert.NoError(t, err)
		}
	}
}
