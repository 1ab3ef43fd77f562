package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/natshost"
	"pinion/runtime/supervise"
)

// NATS says how a command reaches the job queue of a model.
type NATS struct {
	urls    []string // or embed, or embed:DIR
	creds   string
	ca      string
	cert    string
	key     string
	keyFile string
	Keys    *state.Keys // of keyFile, once check has read it
}

// Settings returns the settings; help and byDefault are those of --nats.
func (s *NATS) Settings(help, byDefault string) usertext.Settings {
	return usertext.Settings{
		{To: &s.urls, Name: "nats", Group: usertext.GroupJobs, Help: help, Default: byDefault},
		{To: &s.creds, Name: "nats-creds", Group: usertext.GroupJobs, Help: "file of the NATS user's credentials"},
		{
			To: &s.ca, Name: "nats-tls-ca", Group: usertext.GroupJobs, Default: "the system's",
			Help: "PEM file of the certificate authorities that NATS' certificate is checked by",
		},
		{
			To: &s.cert, Name: "nats-tls-cert", Group: usertext.GroupJobs,
			Help: "PEM file of the client certificate that NATS asks for",
		},
		{
			To: &s.keyFile, Name: "jobs-key", Group: usertext.GroupJobs,
			Help: "file of AES-256 keys in base64, one a line, that encrypt inputs, results and webhooks in NATS: the first key " +
				"encrypts, every key decrypts",
		},
		{To: &s.key, Name: "nats-tls-key", Group: usertext.GroupJobs, Help: "PEM file of the client certificate's key"},
	}
}

// On reports whether there is a queue.
func (s *NATS) On() bool { return len(s.urls) > 0 }

// Embeds reports whether NATS keeps its jobs in a folder of this host, and in which; "" means the default.
func (s *NATS) Embeds() (dir string, ok bool) {
	if len(s.urls) != 1 {
		return "", false
	}
	word, dir, _ := strings.Cut(s.urls[0], ":")
	return dir, word == "embed"
}

func (s *NATS) Check() error {
	if !s.On() {
		switch {
		case s.creds+s.ca+s.cert+s.key != "":
			return fmt.Errorf("--nats-creds and --nats-tls-… need --nats")
		case s.keyFile != "":
			return fmt.Errorf("--jobs-key needs --nats")
		}
		return nil
	}
	if s.keyFile != "" {
		keys, err := state.ReadKeys(s.keyFile)
		if err != nil {
			return fmt.Errorf("--jobs-key: %w", err)
		}
		s.Keys = keys
	}
	if _, ok := s.Embeds(); ok {
		if s.creds+s.ca+s.cert+s.key != "" {
			return fmt.Errorf("--nats %s has no port, so --nats-creds and --nats-tls-… have no effect: leave them out",
				s.urls[0])
		}
		return nil
	}
	for _, server := range s.urls {
		if word, _, _ := strings.Cut(server, ":"); word == "embed" {
			return fmt.Errorf("--nats %s: embed cannot be combined with URLs", server)
		}
	}
	if err := (&state.Connection{
		URLs: s.urls, Credentials: s.creds, CA: s.ca, Cert: s.cert,
		Key: s.key,
	}).Check(); err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	return nil
}

// Embed starts NATS on a folder of this host. Its process is registered with children. sync is how often it writes
// through to the disk. beside is how many queues there will be on this host.
func (s *NATS) Embed(dir string, sync time.Duration, beside int, children natshost.Children,
	log *slog.Logger,
) (*natshost.Host, error) {
	program, err := process.Companion(process.NATS)
	if err != nil {
		return nil, process.Misused(fmt.Errorf("--nats %s: %w; without it, give the URL of a NATS server", s.urls[0], err))
	}
	servers := beside
	if own, _ := s.Embeds(); own != "" {
		servers = 1
	}
	return natshost.Start(natshost.Options{
		Dir: dir, Sync: sync, Queues: beside, Program: program, Version: version.Build(), Env: natsMemory(servers),
		Children: children, Logger: log,
	})
}

// natsShare is the part of the memory of the server and its workers that a NATS server of this host may have before its
// collector works harder.
const natsShare = 8

// natsMemory returns the environment of one of servers NATS servers: its soft memory limit, if there is one.
func natsMemory(servers int) []string {
	limit := supervise.MemoryLimit()
	if limit <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return []string{"GOMEMLIMIT=" + strconv.FormatInt(limit/natsShare/int64(servers), 10)}
}

// Dial connects a member of a queue, in the background.
func (s *NATS) Dial(model, member string, changed func(error)) *state.Conn {
	return (&state.Connection{
		URLs: s.urls, Credentials: s.creds, CA: s.ca, Cert: s.cert, Key: s.key, Model: model,
		Name: member, OnChange: changed,
	}).Dial()
}

// EmbedFolder returns the folder of --nats embed for a queue. Each has its own, so that its jobs stay its own beside
// those of other models.
func EmbedFolder(dir, model string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	state, err := stateFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "jobs", model), nil
}

// stateFolder returns where programs of this user keep what outlives them (XDG base directories).
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pinion"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("--nats embed: no folder for the jobs: give one as embed:DIR: %w", err)
	}
	return filepath.Join(home, ".local", "state", "pinion"), nil
}

// QueueTitle returns the name by which a queue knows the only model: what was given, else the image of cog.yaml without
// its tag. state.QueueName makes the queue's name of it.
func (s *Protocols) QueueTitle(m *model.Model) (string, error) {
	name, from := s.given, "the argument NAME=DIR"
	if s.model != "" { // NAME may be for other protocols
		name, from = s.model, "--model"
	}
	if name == "" {
		name, from = m.Image, "image in cog.yaml"
		if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
			name = name[:at]
		}
	}
	if name == "" {
		return "", fmt.Errorf("--nats: the model has no name in the job queue: give --model NAME")
	}
	if err := CheckQueued(name); err != nil {
		return "", fmt.Errorf("%s: %w: give --model NAME", from, err)
	}
	return name, nil
}

// CheckQueued refuses a name that no model of a job queue can have.
func CheckQueued(name string) error {
	if state.CheckModel(name) == nil || IsModelName(name) {
		return nil
	}
	return fmt.Errorf("invalid model name %q: %s", name, modelNameForm)
}
