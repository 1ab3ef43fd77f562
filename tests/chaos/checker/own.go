package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// neverAwaited is what Python says of a coroutine that was made, and then dropped because its prediction was canceled.
const neverAwaited = "' was never awaited"

// ignored is what Python says of an exception, such as that of a cancel, which came while a callback of a weak
// reference or a __del__ ran: it goes no further. The front's next signal raises another one.
const ignored = "Exception ignored in: "

var (
	errForeignCoroutine = errors.New("it has Python's word on a canceled prediction's coroutine in its logs")
	errIgnored          = errors.New("its cancel was lost in a callback")
)

// own returns an error unless the answer is the prediction's own, to the last byte that is known, and its logs as well
// if their worker was sound. The logs of a second batch may follow some of the first, and with talk any text.
func own(p *prediction, e *entry, sound, talk bool) error {
	text := fmt.Sprintf("%s %d ", p.asked.Token, p.last().pid)
	if p.asked.Items < 0 {
		if err := ownText(e, text, p.asked.Pad); err != nil {
			return err
		}
	} else if err := ownList(e, text, p.asked.Items, p.asked.Pad); err != nil {
		return err
	}
	want, before := "", ""
	if p.asked.Says {
		want = p.asked.Token + "\n"
	}
	if c := p.lastCall(); c != nil {
		want = c.says() // each item of a batch has all that the model prints
		if first := p.calls[0]; first.pid != c.pid {
			before = first.says() // a part of which may have come before that worker died
		}
		if e.Batch != len(c.first.members) {
			return fmt.Errorf("its batch has %d, it says, and the model had %d", e.Batch, len(c.first.members))
		}
	}
	if rest, ok := strings.CutSuffix(e.Logs, want); sound && (!ok || !talk && !strings.HasPrefix(before, rest)) {
		if strings.Contains(e.Logs, neverAwaited) {
			return errForeignCoroutine
		}
		if (p.left || p.cancel) && strings.Contains(e.Logs, ignored) {
			return errIgnored
		}
		return fmt.Errorf("its logs are %.1500q, want %q", e.Logs, want)
	}
	return nil
}

func ownText(e *entry, text string, pad int) error {
	if want := len(text) + pad + len(`""`); e.Length != want {
		return fmt.Errorf("the output has %d bytes, want %d", e.Length, want)
	}
	if e.Output == nil {
		if !strings.HasPrefix(`"`+text, e.Head) && !strings.HasPrefix(e.Head, `"`+text) {
			return fmt.Errorf("the output begins with %q, want %q", e.Head, text)
		}
		return nil
	}
	var got string
	if err := json.Unmarshal(e.Output, &got); err != nil {
		return err
	}
	if got != text+strings.Repeat("x", pad) {
		return fmt.Errorf("the output is %.100q, want %q", got, text)
	}
	return nil
}

func ownList(e *entry, text string, items, pad int) error {
	size := len(text) + len(`"",`)
	if want := items*size + size + pad + 1; e.Length != want {
		return fmt.Errorf("the output has %d bytes, want %d", e.Length, want)
	}
	if e.Output == nil {
		return nil // its length says how many there are, and its head was compared with the others'
	}
	var got []string
	if err := json.Unmarshal(e.Output, &got); err != nil {
		return err
	}
	if len(got) != items+1 {
		return fmt.Errorf("the output has %d items, want %d", len(got), items+1)
	}
	for i, item := range got {
		want := text
		if i == items {
			want += strings.Repeat("x", pad)
		}
		if item != want {
			return fmt.Errorf("item %d is %.100q, want %.100q", i, item, want)
		}
	}
	return nil
}
