package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/httpd/anthropic"
	"pinion/httpd/instances"
	"pinion/httpd/oip"
	"pinion/httpd/openai"
	"pinion/httpd/openai/responses"
	"pinion/httpd/protocol"
	"pinion/httpd/replicate"
	"pinion/runtime/jobqueue/store"
	"pinion/runtime/nearest"
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

	WebhookSecret string // as Replicate's clients ask for it; set by the server

	openAIStrict bool
	// MultiModel means that SageMaker loads and unloads models in Repository.
	MultiModel bool
	Repository instances.Repository
}

const noProtocols = "none"

// bindNames declares the flags that a gateway has too.
func (s *Protocols) bindNames(f *pflag.FlagSet) {
	f.StringSliceVar(&s.Names, "protocols", protocol.Names(),
		"protocols beside the native API: oip, openai, kserve-v1, vertex, sagemaker, anthropic, replicate, or none (PINION_PROTOCOLS)")
	f.BoolVar(&s.openAIStrict, "openai-strict", false,
		"refuse parameters of OpenAI requests that only self-hosted servers know, such as top_k (PINION_OPENAI_STRICT)")
	f.IntVar(&s.GRPCPort, "grpc-port", -1,
		"a port for the Open Inference Protocol over gRPC; 0 picks a free one (PINION_GRPC_PORT; default: none)")
	f.Lookup("grpc-port").DefValue = "0" // the usage text names the default
}

func (s *Protocols) bindFlags(f *pflag.FlagSet) {
	s.bindNames(f)
	f.StringVar(&s.model, "model", "",
		"the model's name in other protocols and in the job queue (PINION_MODEL; default: NAME of NAME=DIR, else the folder's; in the job queue else cog.yaml's image without its tag, and it must have one)")
}

func (s *Protocols) variables(f *pflag.FlagSet) []Variable {
	return slices.Concat(variablesOf(f, "protocols", "model", "openai-strict"), numbers(f, 0, "grpc-port"), []Variable{
		{Name: "SAGEMAKER_MULTI_MODEL", Set: func(v string) error { return usertext.ParseBool(&s.MultiModel, v) }},
		{Name: "AIP_HEALTH_ROUTE", Set: func(v string) error { s.Vertex.Health = v; return instances.CheckVertexPath(v) }},
		{Name: "AIP_PREDICT_ROUTE", Set: func(v string) error { s.Vertex.Predict = v; return instances.CheckVertexPath(v) }},
	})
}

func (s *Protocols) check() error {
	for i, name := range s.Names {
		name = strings.TrimSpace(name)
		s.Names[i] = name
		if slices.Contains(protocol.Names(), name) || name == noProtocols && len(s.Names) == 1 {
			continue
		}
		if name == noProtocols {
			return fmt.Errorf("--protocols %s: none cannot be combined with others", strings.Join(s.Names, ","))
		}
		return fmt.Errorf("--protocols %q: must be a list of %s, or none%s", name, strings.Join(protocol.Names(), ", "),
			nearest.Hint(name, protocol.Names()))
	}
	switch {
	case s.GRPCPort < -1 || s.GRPCPort > 65535:
		return fmt.Errorf("--grpc-port %d: must be 0 to 65535", s.GRPCPort)
	case s.GRPCPort >= 0 && !slices.Contains(s.Names, protocol.OIP):
		return fmt.Errorf("--grpc-port %d needs %s in --protocols", s.GRPCPort, protocol.OIP)
	case s.model != "" && !IsModelName(s.model):
		return fmt.Errorf("--model %q: %s", s.model, modelNameForm)
	// else one is for the queue
	case s.model != "" && s.given != "" && s.model != s.given && store.CheckModel(s.given) == nil:
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
