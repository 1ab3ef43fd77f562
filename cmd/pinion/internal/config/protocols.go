package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/httpd/anthropic"
	"pinion/httpd/instances"
	"pinion/httpd/mcp"
	"pinion/httpd/oip"
	"pinion/httpd/openai"
	"pinion/httpd/openai/responses"
	"pinion/httpd/protocol"
	"pinion/httpd/replicate"
	"pinion/runtime/jobqueue/store/state"
)

// newProtocol makes the protocols of --protocols by name.
var newProtocol = map[string]func(*Protocols, protocol.Models) protocol.Protocol{
	protocol.OIP: func(_ *Protocols, models protocol.Models) protocol.Protocol {
		return oip.New(models, version.Pinion)
	},
	protocol.OpenAI: func(s *Protocols, models protocol.Models) protocol.Protocol {
		return openai.New(models, s.openAIStrict, responses.Dialect())
	},
	protocol.KServe: func(_ *Protocols, models protocol.Models) protocol.Protocol { return instances.KServe(models) },
	protocol.Vertex: func(s *Protocols, models protocol.Models) protocol.Protocol {
		return instances.Vertex(models, s.Vertex)
	},
	protocol.Anthropic: func(s *Protocols, models protocol.Models) protocol.Protocol {
		return anthropic.New(models, s.openAIStrict)
	},
	protocol.Replicate: func(s *Protocols, models protocol.Models) protocol.Protocol {
		return replicate.New(models, replicate.Options{CogVersion: version.Cog, WebhookSecret: s.WebhookSecret})
	},
	protocol.MCP: func(s *Protocols, models protocol.Models) protocol.Protocol {
		o := s.MCP
		o.Version = version.Pinion
		return mcp.New(models, o)
	},
	protocol.SageMaker: func(s *Protocols,
		models protocol.Models,
	) protocol.Protocol {
		return instances.SageMaker(models, s.Repository)
	},
}

// Protocols says which other protocols the server speaks, and the name by which they know the model.
type Protocols struct {
	Names  []string
	model  string // --model
	given  string // NAME of "pinion serve NAME=DIR"
	Vertex instances.VertexPaths

	GRPCPort int // -1 means off

	MCP mcp.Options // the server sets the rest

	WebhookSecret string // as Replicate's clients ask for it; set by the server

	openAIStrict bool
	// MultiModel means that SageMaker loads and unloads models in Repository.
	MultiModel bool
	Repository instances.Repository
}

// names returns the settings that a gateway has too.
func (s *Protocols) names() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.Names, Name: "protocols", Init: protocol.Names(), Words: append(protocol.Names(), usertext.None),
			Group: usertext.GroupAccess,
			Help:  "protocols beside the native API: " + strings.Join(protocol.Names(), ", ") + ", or none",
		},
		{
			To: &s.openAIStrict, Name: "openai-strict", Group: usertext.GroupAccess,
			Help: "refuse parameters of OpenAI requests that only self-hosted servers know, such as top_k",
			Idle: func() string {
				strict := slices.Contains(s.Names, protocol.OpenAI) || slices.Contains(s.Names, protocol.Anthropic)
				return when(!strict, "without openai or anthropic in --protocols")
			},
		},
		{
			To: &s.MCP.TaskAfter, Name: "mcp-task-after", Init: 2 * time.Second, Group: usertext.GroupAccess,
			Help: "how long a call of a tool waits for its result, before a client that takes tasks is given one",
			Idle: func() string { return when(!slices.Contains(s.Names, protocol.MCP), "without mcp in --protocols") },
		},
		{
			To: &s.GRPCPort, Name: "grpc-port", Init: noPort, Max: usertext.MaxPort, Group: usertext.GroupAccess, Default: "none",
			Help: "a port for the Open Inference Protocol over gRPC; 0 picks a free one",
		},
	}
}

func (s *Protocols) settings() usertext.Settings {
	return append(s.names(), usertext.Settings{
		ModelSetting(&s.model, "the model's name in other protocols and in the job queue",
			"NAME of NAME=DIR, else the folder's; in the job queue else cog.yaml's image without its tag, and it must have one"),
		{
			To: &s.MultiModel, Variable: "SAGEMAKER_MULTI_MODEL", Default: "`false`",
			Help: "true: `POST /models` and `DELETE /models/NAME` load and unload models, for [SageMaker's multi-model " +
				"endpoints](protocols.md#sagemaker). The server may start with none",
		},
		{
			To: &s.Vertex.Health, Variable: "AIP_HEALTH_ROUTE", Parse: vertexPath, Default: "none",
			Help: "the path of Vertex AI's health route",
		},
		{
			To: &s.Vertex.Predict, Variable: "AIP_PREDICT_ROUTE", Parse: vertexPath, Default: "none",
			Help: "the path of Vertex AI's predict route",
		},
	}...)
}

// ModelSetting is the setting of a model's name in the queue; byDefault is what holds without it.
func ModelSetting(to *string, help, byDefault string) usertext.Setting {
	return usertext.Setting{To: to, Name: "model", Group: usertext.GroupJobs, Help: help, Default: byDefault}
}

func vertexPath(v string) (string, error) { return v, instances.CheckVertexPath(v) }

func (s *Protocols) check() error {
	if len(s.Names) > 1 && slices.Contains(s.Names, usertext.None) {
		return fmt.Errorf("--protocols %s: none cannot be combined with others", strings.Join(s.Names, ","))
	}
	switch {
	case s.GRPCPort >= 0 && !slices.Contains(s.Names, protocol.OIP):
		return fmt.Errorf("--grpc-port %d needs %s in --protocols", s.GRPCPort, protocol.OIP)
	case s.model != "" && !IsModelName(s.model):
		return fmt.Errorf("--model %q: %s", s.model, modelNameForm)
	// else one is for the queue
	case s.model != "" && s.given != "" && s.model != s.given && state.CheckModel(s.given) == nil:
		return fmt.Errorf("--model %s and %s=DIR are two names for one model: give one", s.model, s.given)
	}
	return nil
}

// takeName splits NAME=DIR, unless there is a folder of that name.
func (s *Protocols) takeName(arg string) (dir string) {
	name, dir, ok := strings.Cut(arg, "=")
	if !ok || !IsModelName(name) || exists(arg) {
		return arg
	}
	s.given = name
	return dir
}

// ModelName returns the model's name in other protocols.
func (s *Protocols) ModelName(m *model.Model) string {
	for _, name := range []string{s.given, s.model, filepath.Base(m.Dir)} {
		if name != "" && name != "/" && name != "." {
			return name
		}
	}
	return "model"
}

// OpenAIName returns the name of a model at OpenAI's API; "" means the server does not serve it.
func (s *Protocols) OpenAIName(model string) string {
	if !slices.Contains(s.Names, protocol.OpenAI) {
		return ""
	}
	return model
}

// List makes the protocols that are on.
func (s *Protocols) List(models protocol.Models) []protocol.Protocol {
	var list []protocol.Protocol
	for _, name := range protocol.Names() {
		if made := newProtocol[name]; made != nil && slices.Contains(s.Names, name) {
			list = append(list, made(s, models))
		}
	}
	return list
}
