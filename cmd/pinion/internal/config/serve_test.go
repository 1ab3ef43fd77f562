package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/ipc"
	"pinion/tests/assert"
)

// TestServe_OddValuesAreIgnored: no value of a variable of Cog's ends the server.
func TestServe_OddValuesAreIgnored(t *testing.T) {
	for name, values := range map[string][]string{
		"PORT":                           {"70000", "-1", "http", "80 "},
		"COG_MAX_CONCURRENCY":            {"0", "many"},
		"COG_SETUP_TIMEOUT":              {"-1", "soon", "NaN"},
		"COG_LOG_LEVEL":                  {"loud"},
		"LOG_FORMAT":                     {"text", "JSON", "logfmt"},
		"COG_THROTTLE_RESPONSE_INTERVAL": {"-1", "inf"},
		"COG_STREAM_HISTORY_CAPACITY":    {"-1", "1.5"},
		"COG_USER_AGENT":                 {"two\nlines"},
		"WEBHOOK_AUTH_TOKEN":             {"two\r\nlines"},
	} {
		for _, value := range values {
			var with, without Serve
			for s, env := range map[*Serve]string{&with: value, &without: ""} {
				f := pflag.NewFlagSet("", pflag.ContinueOnError)
				s.BindFlags(f)
				err := s.FromEnvironment(f, func(n string) string {
					if n == name {
						return env
					}
					return ""
				})
				assert.True(t, err == nil, "%s=%q: got %v, want no error", name, env, err)
			}
			warnings := append(with.Server.Warnings, with.Model.Warnings...)
			assert.True(t, len(warnings) == 1 && strings.HasPrefix(warnings[0], name+" is ignored: "),
				"%s=%q: warnings %q, want len(warnings) 1 and warnings[0] starting with %q", name, value, warnings, name+" is ignored: ")
			if with.Port != without.Port || with.Log.Format != without.Log.Format || with.Concurrency != without.Concurrency {
				t.Errorf("%s=%q: got port %d, format %q, concurrency %d, want the defaults", name, value, with.Port,
					with.Log.Format, with.Concurrency)
			}
		}
	}
}

// parsed returns the settings that arguments make, and their flags.
func parsed(t *testing.T, args []string) (*Serve, *pflag.FlagSet) {
	t.Helper()
	var s Serve
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(f)
	assert.NoError(t, f.Parse(args))
	return &s, f
}

// TestServe_MoreConcurrencyThanThereIs is cut to what there is: Cog has no such limit.
func TestServe_MoreConcurrencyThanThereIs(t *testing.T) {
	s, f := parsed(t, nil)
	err := s.FromEnvironment(f, func(name string) string { return map[string]string{"COG_MAX_CONCURRENCY": "5000"}[name] })
	assert.NoError(t, err)
	assert.Equal(t, "concurrency", s.Concurrency, ipc.MaxSlots)
	assert.Equal(t, "number of warnings", len(s.Model.Warnings), 1)
}

// TestServe_PortPrecedence: the flag, SageMaker's port, Vertex AI's, PORT.
func TestServe_PortPrecedence(t *testing.T) {
	env := map[string]string{"SAGEMAKER_BIND_TO_PORT": "8081", "AIP_HTTP_PORT": "8082", "PORT": "8083"}
	for _, c := range []struct {
		args, without []string
		want          int
	}{
		{args: []string{"-p", "8080"}, want: 8080},
		{want: 8081},
		{without: []string{"SAGEMAKER_BIND_TO_PORT"}, want: 8082},
		{without: []string{"SAGEMAKER_BIND_TO_PORT", "AIP_HTTP_PORT"}, want: 8083},
	} {
		s, f := parsed(t, c.args)
		err := s.FromEnvironment(f, func(name string) string {
			if slices.Contains(c.without, name) {
				return ""
			}
			return env[name]
		})
		assert.True(t, err == nil && s.Port == c.want, "%v without %v: port %d, %v; want %d", c.args, c.without, s.Port, err, c.want)
	}
}

// TestVariables_LinksToServicesAreIgnored: Kubernetes sets them in each pod beside a service of that name.
func TestVariables_LinksToServicesAreIgnored(t *testing.T) {
	s, f := parsed(t, nil)
	err := s.FromEnvironment(f, func(name string) string {
		return map[string]string{
			"PORT": "tcp://10.0.0.1:80", "PINION_GRPC_PORT": "tcp://10.0.0.1:80",
			"PINION_METRICS_PORT": "udp://10.0.0.1:80",
		}[name]
	})
	assert.True(t, err == nil && s.Port == 5000 && s.Protocols.GRPCPort == -1 && s.Exposure.MetricsPort == -1,
		"got ports %d, %d, %d, %v, want the defaults", s.Port, s.Protocols.GRPCPort, s.Exposure.MetricsPort, err)
}

// TestServe_FlagsWithoutEffectAreNamed: each has a warning for the log.
func TestServe_FlagsWithoutEffectAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, nil},
		{[]string{"--port", "0", "--host", "[::1]", "--shutdown-from", "any"}, nil},
		{[]string{"--auth-public", "none"}, []string{"--auth-public has no effect without --auth-token-file"}},
		{[]string{"--shutdown-from", "any", "--no-shutdown"}, []string{"--shutdown-from has no effect with --no-shutdown"}},
		{
			[]string{"--no-dashboard", "--dashboard-content"},
			[]string{"--dashboard-content has no effect with --no-dashboard"},
		},
		{[]string{"--host", "unix:/x", "--port", "1"}, []string{"--port has no effect with --host unix:/path"}},
		{
			[]string{"--lanes", "2", "--nats-sync", "always"},
			[]string{"--nats-sync has no effect without --nats embed", "--lanes has no effect without --nats"},
		},
		{
			[]string{"--openai-strict", "--protocols", "oip, vertex"},
			[]string{"--openai-strict has no effect without openai or anthropic in --protocols"},
		},
		{[]string{"--openai-strict", "--protocols", "oip, anthropic"}, nil},
		{
			[]string{"--setup-retries", "2", "--restart", "never"},
			[]string{"--setup-retries has no effect with --restart never"},
		},
		{[]string{"--setup-retries", "2"}, nil},
	} {
		s, f := parsed(t, c.args)
		err := s.FromEnvironment(f, func(string) string { return "" })
		got := slices.Concat(s.Server.Warnings, s.Model.Warnings)
		assert.True(t, err == nil && slices.Equal(got, c.want), "%v: got %q, %v, want %q", c.args, got, err, c.want)
	}
}

// TestExposure_ValuesThatNothingCouldMatchAreErrors, and others are written as they are compared.
func TestExposure_ValuesThatNothingCouldMatchAreErrors(t *testing.T) {
	s, _ := parsed(t, []string{
		"--host", "[::]", "--metrics-port", "0", "--metrics-host", "[::1]",
		"--cors-origin", "HTTPS://A.example/, https://*.b.example", "--cors-origin", "http://c:80",
	})
	assert.Equal(t, "--host", s.Exposure.host, "::")
	assert.Equal(t, "--metrics-host", s.Exposure.metricsHost, "::1")
	assert.EqualSlices(t, "--cors-origin", s.Exposure.CORSOrigins, []string{"https://a.example", "https://*.b.example", "http://c"})
	for _, args := range [][]string{{"--host", "localhost:5000"}, {"--metrics-host", "x:1"}, {"--cors-origin", "a.example"}} {
		var s Serve
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.BindFlags(f)
		err := usertext.FlagValueError(f.Parse(args))
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), args[0]+" "), "%v: got %v, want an error that begins with %s", args,
			err, args[0])
	}
}

// TestGateway_PlatformVariablesAreIgnored: as by serve.
func TestGateway_PlatformVariablesAreIgnored(t *testing.T) {
	var s Gateway
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(f)
	err := s.FromEnvironment(f, func(name string) string {
		return map[string]string{
			"PORT": "tcp://10.0.0.1:80", "COG_LOG_LEVEL": "loud", "LOG_FORMAT": "xml",
			"PINION_NATS": "nats://h", "PINION_MODEL": "m",
		}[name]
	})
	assert.True(t, err == nil && s.Port == 5000 && len(s.Warnings) == 3,
		"got port %d, warnings %q, %v, want 5000 and 3 warnings", s.Port, s.Warnings, err)
}

// TestServe_BadPlatformValues end the server: a platform would wait in vain at the port or path that it asked for.
func TestServe_BadPlatformValues(t *testing.T) {
	for name, value := range map[string]string{
		"SAGEMAKER_BIND_TO_PORT": "http", "AIP_HTTP_PORT": "70000", "AIP_HEALTH_ROUTE": "health",
		"AIP_PREDICT_ROUTE": "/{any}",
	} {
		s, f := parsed(t, nil)
		err := s.FromEnvironment(f, func(n string) string { return map[string]string{name: value}[n] })
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), name+": "),
			"%s=%s: %v, want an error and err starting with %q", name, value, err, name+": ")
	}
}

func TestServe_WorkerCount(t *testing.T) {
	for text, want := range map[string]workerCount{"auto": 0, "1": 1, "16": 16} {
		var c workerCount
		if err := c.Set(text); err != nil || c != want || c.String() != text {
			t.Errorf("%q is %d, %v, want c %v and c.String() %q", text, c, err, want, text)
		}
	}
	for _, text := range []string{"0", "-1", "many", ""} {
		var c workerCount
		err := c.Set(text)
		assert.True(t, err != nil, "%q is taken", text)
	}
}
