package state

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// IsPlain reports whether s is 1 to most letters, digits, _ or -. It is not a regular expression: that would be
// compiled at each start of a process that has no queue.
func IsPlain(s string, most int) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return 1 <= len(s) && len(s) <= most
}

// CheckModel returns an error unless a model's name can be part of a stream's.
func CheckModel(model string) error {
	if !IsPlain(model, longestQueue) {
		return fmt.Errorf("the model's name is %q; it must be 1 to 63 letters, digits, _ or -", model)
	}
	return nil
}

// longestQueue is the longest name of a queue, in bytes.
const longestQueue = 63

// QueueName returns the name of a model's queue: the model's own, or if that cannot be part of a stream's, what can of
// it and a hash of the whole.
func QueueName(model string) string {
	if IsPlain(model, longestQueue) {
		return model
	}
	plain := []byte(model)
	for i, b := range plain {
		if !IsPlain(string(b), 1) {
			plain[i] = '_'
		}
	}
	sum := sha256.Sum256([]byte(model))
	hash := "-" + hex.EncodeToString(sum[:8])
	return string(plain[:min(len(plain), longestQueue-len(hash))]) + hash
}

// Token returns an id or a tenant as a part of a subject or key. Two of them never have the same token.
func Token(s string) string {
	if IsPlain(s, 64) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "=" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// Class is how urgent a job is.
type Class string

// The classes, the most urgent first.
const (
	High   Class = "hi"
	Normal Class = "std"
	Low    Class = "lo"
)

// Classes are all of them, the most urgent first.
var Classes = [...]Class{High, Normal, Low}

// ParseClass reads the header Pinion-Priority; "" is Normal.
func ParseClass(s string) (Class, error) {
	if s == "" {
		return Normal, nil
	}
	for _, c := range Classes {
		if s == string(c) {
			return c, nil
		}
	}
	return "", fmt.Errorf("Pinion-Priority is %.64q; it must be hi, std or lo", s)
}

// Names makes the names of a model's streams, subjects and keys.
type Names struct{ Model string }

// jobsPrefix begins the names of the streams of jobs.
const jobsPrefix = "PINION_JOBS_"

func (n Names) Jobs() string  { return jobsPrefix + n.Model }
func (n Names) Hooks() string { return "PINION_HOOKS_" + n.Model }
func (n Names) Dead() string  { return "PINION_DEAD_" + n.Model }

// States returns the bucket's stream. Its keys are subjects.
func (n Names) States() string { return "KV_pinion_state_" + n.Model }

func (n Names) StateKey(id string) string { return "$KV.pinion_state_" + n.Model + ".id." + Token(id) }

// SchemaKey returns the key of the model's schema.
func (n Names) SchemaKey() string { return "$KV.pinion_state_" + n.Model + ".schema" }

// versionSchemaKey returns the key of the schema of a version of the model; "*" means of all.
func (n Names) versionSchemaKey(version string) string {
	if version != "*" {
		version = Token(version)
	}
	return n.SchemaKey() + "." + version
}

// Job returns the subject of a job's message.
func (n Names) Job(c Class, lanes int, tenant string) string {
	return "pinion.job." + n.Model + "." + string(c) + "." + strconv.Itoa(laneOf(tenant, lanes)) + "." + Token(tenant)
}

// lane returns the subject of all jobs of a class in a lane.
func (n Names) lane(c Class, lane int) string {
	return "pinion.job." + n.Model + "." + string(c) + "." + strconv.Itoa(lane) + ".>"
}

// Consumer returns the name of the lane's consumer.
func Consumer(c Class, lane int) string { return string(c) + "-" + strconv.Itoa(lane) }

// Jobs that name a version of the model have their own subjects and consumers, so that only servers with that version
// get them.

// VersionJob returns the subject of the message of a job that names a version.
func (n Names) VersionJob(version string, c Class, tenant string) string {
	return n.versionClass(version, c) + Token(tenant)
}

// versionClass begins the subjects of such jobs of a class.
func (n Names) versionClass(version string, c Class) string {
	return "pinion.job." + n.Model + "." + AtVersion + "." + Token(version) + "." + string(c) + "."
}

// AtVersion stands in subjects and in names of consumers in place of a class or a lane.
const AtVersion = "at"

// versionConsumer returns the name of the consumer of such jobs.
func versionConsumer(version string, c Class) string {
	return string(c) + "-" + AtVersion + "-" + Token(version)
}

// versionOf is the reverse, with the version's token; false means it is the consumer of a lane.
func versionOf(consumer string) (token string, ok bool) {
	_, rest, _ := strings.Cut(consumer, "-")
	return strings.CutPrefix(rest, AtVersion+"-")
}

// VersionToken returns a version as a part of a subject.
func VersionToken(version string) string { return Token(version) }

// About returns a core subject about one job: cancel, held, attach.
func (n Names) About(verb, id string) string {
	return "pinion." + verb + "." + n.Model + "." + Token(id)
}

// laneOf spreads tenants over the lanes.
func laneOf(tenant string, lanes int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant))
	return int(h.Sum32() % uint32(max(1, lanes)))
}
