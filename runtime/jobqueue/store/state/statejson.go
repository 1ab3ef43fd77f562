package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"pinion/runtime/rawjson"
)

// A job's state is written three times and read twice, so its JSON is written and read without reflection: package json
// took a tenth of a job's CPU time.

// MarshalJSON writes unknown members behind the known ones, in order of their names.
func (s *State) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 256+len(s.Prediction))
	b = strconv.AppendInt(append(b, `{"v":`...), int64(s.Version), 10)
	b = rawjson.AppendQuoted(append(b, `,"job":`...), s.Job)
	b = rawjson.AppendQuoted(append(b, `,"status":`...), string(s.Status))
	b = strconv.AppendInt(append(b, `,"attempt":`...), int64(s.Attempt), 10)
	b = strconv.AppendInt(append(b, `,"lost":`...), int64(s.Lost), 10)
	b = appendText(b, `,"server":`, s.Server)
	b = appendText(b, `,"claim":`, s.Claim)
	if s.Seq != 0 {
		b = strconv.AppendUint(append(b, `,"seq":`...), s.Seq, 10)
	}
	b = appendTrue(b, `,"cancel":`, s.Cancel)
	b = appendText(b, `,"kind":`, string(s.Kind))
	if s.Deadline != 0 {
		b = strconv.AppendInt(append(b, `,"deadline":`...), s.Deadline, 10)
	}
	if s.Hook != nil {
		text, err := json.Marshal(s.Hook)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"hook":`...), text...)
	}
	b = appendTrue(b, `,"yielded":`, s.Yielded)
	b = appendText(b, `,"version":`, s.ModelVersion)
	if len(s.Digest) > 0 {
		b = base64.StdEncoding.AppendEncode(append(b, `,"digest":"`...), s.Digest)
		b = append(b, '"')
	}
	b = append(b, `,"prediction":`...)
	if s.Prediction == nil {
		b = append(b, `null`...)
	}
	b = append(b, s.Prediction...)
	for _, name := range slices.Sorted(maps.Keys(s.Unknown)) {
		b = rawjson.AppendQuoted(append(b, ','), name)
		b = append(append(b, ':'), s.Unknown[name]...)
	}
	return append(b, '}'), nil
}

// appendText appends a member, unless its value is empty.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return rawjson.AppendQuoted(append(b, name...), value)
}

// appendTrue appends a member, unless its value is false.
func appendTrue(b []byte, name string, value bool) []byte {
	if !value {
		return b
	}
	return append(append(b, name...), `true`...)
}

// UnmarshalJSON keeps unknown members. Prediction and they are parts of text.
func (s *State) UnmarshalJSON(text []byte) error {
	// A prediction may be nested as deep as rawjson reads, and is deeper here.
	if err := rawjson.Check(text); err != nil && !(json.Valid(text) && utf8.Valid(text)) {
		return fmt.Errorf("read a state: %w", err)
	}
	if rawjson.KindOf(text) != rawjson.KindObject {
		return fmt.Errorf("read a state: got %s, want an object", rawjson.KindOf(text))
	}
	for key, value := range rawjson.Members(text) {
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(rawjson.KeyText(key))
		}
		if err := s.set(key, value); err != nil {
			return fmt.Errorf("read the member %.64q of a state: %w", key, err)
		}
	}
	return nil
}

// set sets one member.
func (s *State) set(name, value []byte) (err error) {
	switch string(name) {
	case "v":
		s.Version, err = strconv.Atoi(string(value))
	case "job":
		s.Job, err = readText(value)
	case "status":
		var text string
		text, err = readText(value)
		s.Status = Status(text)
	case "attempt":
		s.Attempt, err = strconv.Atoi(string(value))
	case "lost":
		s.Lost, err = strconv.Atoi(string(value))
	case "server":
		s.Server, err = readText(value)
	case "claim":
		s.Claim, err = readText(value)
	case "seq":
		s.Seq, err = strconv.ParseUint(string(value), 10, 64)
	case "deadline":
		s.Deadline, err = strconv.ParseInt(string(value), 10, 64)
	case "prediction":
		s.Prediction = value
	default:
		err = s.setRare(string(name), value)
	}
	return err
}

// setRare sets a member that most states do not have.
func (s *State) setRare(name string, value []byte) error {
	switch name {
	case "cancel":
		return json.Unmarshal(value, &s.Cancel)
	case "kind":
		return json.Unmarshal(value, &s.Kind)
	case "hook":
		return json.Unmarshal(value, &s.Hook)
	case "yielded":
		return json.Unmarshal(value, &s.Yielded)
	case "version":
		return json.Unmarshal(value, &s.ModelVersion)
	case "digest":
		return json.Unmarshal(value, &s.Digest)
	}
	if s.Unknown == nil {
		s.Unknown = map[string]json.RawMessage{}
	}
	s.Unknown[name] = value
	return nil
}

// readText returns the text of a JSON string.
func readText(value []byte) (string, error) {
	if rawjson.KindOf(value) != rawjson.KindString {
		return "", fmt.Errorf("got %s, want a string", rawjson.KindOf(value))
	}
	return rawjson.Text(value), nil
}
