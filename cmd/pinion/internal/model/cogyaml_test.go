package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// cogYAMLFindings returns what is found in a cog.yaml with this text: a line each, warnings with their word before
// them.
func cogYAMLFindings(t *testing.T, text string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{CogFile: text, "run.py": "", "requirements.txt": ""} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	c := CheckCogYAML(dir)
	var found []string
	for _, p := range c.Problems {
		found = append(found, p.String())
	}
	for _, p := range c.Warnings {
		found = append(found, "warning: "+p.String())
	}
	return found
}

// TestCogyaml_MistakesInCogYAML has the text of a cog.yaml with mistakes, and of each finding the beginning and the
// end.
func TestCogyaml_MistakesInCogYAML(t *testing.T) {
	cases := []struct{ name, text, begin, end string }{
		{
			"a misspelt key", "run: run.py:a\nconcurency:\n  max: 2\n", `cog.yaml:2: unknown key "concurency"`,
			`did you mean "concurrency"?`,
		},
		{"letters in another order", "rnu: run.py:a\n", `cog.yaml:1: unknown key "rnu"`, `did you mean "run"?`},
		{
			"an unknown key", "run: run.py:a\nlicence: MIT\n", `warning: cog.yaml:2: unknown key "licence"`,
			"the keys here are build, concurrency, description, environment, image, logo, model, none_defaults, observability, predict, ranks, run, tests, train, weights",
		},
		{
			"of build", "build:\n  gpu: true\n  pyton_version: '3.12'\n",
			`warning: cog.yaml:3: build: unknown key "pyton_version"`,
			`did you mean "python_version"?`,
		},
		{
			"of concurrency", "concurrency: {mx: 2}\n", `warning: cog.yaml:1: concurrency: unknown key "mx"`,
			`did you mean "max"?`,
		},
		{
			"of observability", "observability:\n  trace:\n    enabled: true\n",
			`warning: cog.yaml:2: observability: unknown key "trace"`, `did you mean "traces"?`,
		},
		{
			"of traces", "observability:\n  traces:\n    enable: true\n",
			`warning: cog.yaml:3: observability.traces: unknown key "enable"`, `did you mean "enabled"?`,
		},
		{
			"of a command", "build:\n  run:\n    - commend: ls\n      command: ls\n",
			`warning: cog.yaml:3: build.run: unknown key "commend"`, `did you mean "command"?`,
		},
		{
			"of a mount", "build:\n  run:\n    - command: ls\n      mounts:\n        - type: secret\n          target: /x\n          ids: x\n",
			`warning: cog.yaml:7: build.run.mounts: unknown key "ids"`, `did you mean "id"?`,
		},
		{
			"of weights", "weights:\n  - sourc: x\n", `warning: cog.yaml:2: weights: unknown key "sourc"`,
			`did you mean "source"?`,
		},

		{
			"a scheme of weights", "weights:\n  - {name: a, source: {uri: 'htps://x/y'}, target: a}\n",
			`cog.yaml:2: weights.source.uri: "htps" has an unknown scheme`, "write https://, if that is what is meant",
		},
		{
			"a password of weights", "weights:\n  - {name: a, source: 'https://me:pw@x/y', target: a}\n",
			"cog.yaml:2: weights.source: the URL has a user or a password", "",
		},
		{
			"a target above", "weights:\n  - {name: a, source: 'https://x/y', target: ../a}\n",
			"cog.yaml:2: weights: the target ../a is outside of the model's folder", "",
		},
		{
			"a target twice", "weights:\n  - {name: a, source: 'https://x/y', target: a}\n  - {name: b, source: 'https://x/z', target: ./a}\n",
			"cog.yaml:3: weights: another entry has the target ./a, in line 2", "",
		},
		{
			"a target in another", "weights:\n  - {name: a, source: 'https://x/y', target: a}\n  - {name: b, source: 'https://x/z', target: /src/a/b}\n",
			"cog.yaml:3: weights: the targets /src/a/b and a, in line 2, are one in the other", "",
		},
		{
			"a target of all", "weights:\n  - {name: a, source: 'https://x/y', target: /src/}\n",
			"cog.yaml:2: weights: the target /src/ is no folder for weights alone", "",
		},
		{
			"a name of weights", "weights:\n  - {name: A, source: 'https://x/y', target: a}\n",
			`cog.yaml:2: weights.name: invalid name "A"`, "",
		},
		{
			"a name twice", "weights:\n  - {name: a, source: 'https://x/y', target: a}\n  - {name: a, source: 'https://x/y', target: b}\n",
			"cog.yaml:3: weights: another entry has the name a, in line 2", "",
		},
		{
			"no name of weights", "weights:\n  - {source: 'https://x/y', target: a}\n",
			"cog.yaml:2: weights: an entry has no name", "",
		},
		{
			"a URL of no file", "weights:\n  - {name: a, source: 'https://x/y/', target: a}\n",
			"cog.yaml:2: weights.source: the URL ends with no name of a file", "",
		},
		{
			"a digest of weights", "weights:\n  - {name: a, source: 'https://x/y', target: a, sha256: ABC}\n",
			`cog.yaml:2: weights.sha256: invalid SHA-256 "ABC"`, "",
		},
		{
			"weights that are not there", "weights:\n  - {source: [run.py, gone], target: a}\n",
			"warning: cog.yaml:2: weights: gone does not exist", "",
		},
		{
			"a pattern that leaves none", "weights:\n  - {source: {uri: ., include: ['*.bin']}, target: a}\n",
			"warning: cog.yaml:2: weights: include and exclude leave no file below .", "",
		},
		{
			"no pattern", "weights:\n  - {source: {uri: ., include: ['[', '*']}, target: a}\n",
			`cog.yaml:2: weights.source.include: invalid pattern "["`, "",
		},
		{
			"a line break of a package", "build:\n  python_packages: [\"a\\nb\"]\n",
			`warning: cog.yaml:2: build.python_packages: "a\nb" has a line break`, "each item by itself",
		},
		{"a variable's name", "environment: [\"A B=1\"]\n", `cog.yaml:1: environment: "A B=1" is not NAME=value`, ""},

		{"the file", "- run\n", "cog.yaml:1: the file is a list: must be a mapping", "as key: value"},
		{
			"a text for a mapping", "concurrency: 4\n", "cog.yaml:1: concurrency is a number: must be a mapping",
			"write its keys below it, each as key: value",
		},
		{
			"a mapping for a text", "image:\n  name: x\n", "cog.yaml:2: image is a mapping: must be a text",
			"write a text, in quotes",
		},
		{
			"a text for a list", "build:\n  system_packages: ffmpeg\n",
			"warning: cog.yaml:2: build.system_packages is a text: must be a list", "as - item",
		},
		{
			"a mapping in a list", "build:\n  python_packages:\n    - torch: 2.0\n",
			"warning: cog.yaml:3: build.python_packages is a mapping: must be a text", "",
		},
		{
			"a text for a boolean", "build:\n  gpu: 'true'\n",
			"warning: cog.yaml:2: build.gpu is a text: must be a boolean", "write true or false, without quotes",
		},
		{
			"a mapping for a list", "environment:\n  A: b\n", "cog.yaml:2: environment is a mapping: must be a list",
			"as - item",
		},
		{"a list for a reference", "run:\n  - run.py:a\n", "cog.yaml:2: run is a list: must be a text", ""},

		{
			"no slots", "concurrency:\n  max: 0\n", "cog.yaml:2: concurrency.max: invalid value 0",
			"give a whole number of at least 1",
		},
		{
			"half a slot", "concurrency:\n  max: 1.5\n",
			"warning: cog.yaml:2: concurrency.max: 1.5 is not a whole number: 1 is used",
			"give a whole number",
		},
		{
			"less than a slot", "concurrency:\n  max: 0.5\n", "cog.yaml:2: concurrency.max: invalid value 0.5",
			"give a whole number of at least 1",
		},
		{"too many slots", "concurrency:\n  max: 99999999999999999999\n", "cog.yaml:2: ", ""},
		{"no number of slots", "concurrency:\n  max: .nan\n", "cog.yaml:2: concurrency.max: invalid value .nan", ""},
		{
			"slots in quotes", "concurrency:\n  max: '4'\n", "cog.yaml:2: concurrency.max is a text: must be a number",
			"without quotes",
		},
		{
			"a version of Python", "build:\n  python_version: three\n",
			`warning: cog.yaml:2: build.python_version: invalid Python version "three"`, `as "3.12" or "3.12.1"`,
		},
		{
			"a major version of Python", "build:\n  python_version: 3\n",
			`warning: cog.yaml:2: build.python_version: invalid Python version "3"`, "",
		},
		{
			"a version of CUDA", "build:\n  cuda: eleven\n", `warning: cog.yaml:2: build.cuda: invalid CUDA version "eleven"`,
			`as "12.4" or "12.4.1"`,
		},
		{"a major version of CUDA", "build:\n  cuda: 12\n", `warning: cog.yaml:2: build.cuda: invalid CUDA version "12"`, ""},
		{
			"an old version of CUDA", "build:\n  cuda: '2.0'\n",
			"warning: cog.yaml:2: build.cuda: there are no images for CUDA 2.0", "",
		},
		{"a version of cuDNN", "build:\n  cudnn: x\n", `warning: cog.yaml:2: build.cudnn: invalid cuDNN version "x"`, ""},
		{
			"a version of Cog", "build:\n  sdk_version: newest\n",
			`warning: cog.yaml:2: build.sdk_version: invalid version of Cog's package "newest"`, "",
		},
		{
			"a sampler", "observability:\n  traces:\n    sampler: allways_on\n",
			`cog.yaml:3: observability.traces.sampler: unknown value "allways_on"`,
			`did you mean "always_on"?`,
		},
		{
			"a ratio", "observability:\n  traces:\n    sampler_arg: '2'\n",
			`cog.yaml:3: observability.traces.sampler_arg: invalid ratio "2"`, `give a number from "0" to "1"`,
		},
		{
			"a header's form", "observability:\n  traces:\n    trace_header_format: b3\n",
			`cog.yaml:3: observability.traces.trace_header_format: unknown value "b3"`, "write one of w3c, jaeger",
		},
		{
			"a kind of mount", "build:\n  run:\n    - command: ls\n      mounts:\n        - type: bind\n",
			`warning: cog.yaml:5: build.run.mounts.type: unknown value "bind"`, "",
		},
		{"no command", "build:\n  run:\n    - mounts: []\n", "warning: cog.yaml:3: build.run: missing command", ""},

		{
			"a key twice", "run: run.py:a\nbuild:\n  gpu: true\nrun: run.py:b\n",
			`cog.yaml:4: "run" is given twice, first in line 1`, "remove one of them",
		},
		{
			"a key twice below", "build:\n  gpu: true\n  gpu: false\n",
			`cog.yaml:3: build: "gpu" is given twice, first in line 2`, "remove one of them",
		},
		{
			"two documents", "run: run.py:a\n---\npredict: run.py:b\n",
			"warning: cog.yaml:3: another YAML document begins here, and only the first is read", "or what follows",
		},
		{
			"two names", "run: run.py:a\npredict: run.py:b\n", "cog.yaml:2: run and predict are both set: Cog allows only one",
			"remove predict: run is served",
		},
		{
			"two lists of packages", "build:\n  python_requirements: requirements.txt\n  python_packages:\n    - a\n",
			"warning: cog.yaml:4: build: python_packages and python_requirements", "",
		},
		{
			"no such requirements", "build:\n  python_requirements: reqs.txt\n",
			"warning: cog.yaml:2: build.python_requirements: file reqs.txt does not exist", "",
		},
		{"no such file", "run: gone.py:a\n", "cog.yaml:1: run: file gone.py does not exist", ""},
		{"no reference", "train: train\n", `cog.yaml:1: train: invalid reference "train"`, ""},
		{"no YAML", "run: [\n", "cog.yaml:1: ", "fix the YAML; keys and values are written as key: value"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := cogYAMLFindings(t, c.text)
			assert.True(t, len(found) == 1 && strings.HasPrefix(found[0], c.begin) && strings.HasSuffix(found[0], c.end),
				"found %q\nwant %q … %q", found, c.begin, c.end)
		})
	}
}

// TestCogyaml_GoodCogYAML accepts what Cog accepts, in this version or an older one.
func TestCogyaml_GoodCogYAML(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"comments":             "# nothing\n---\n",
		"one document, framed": "---\nrun: run.py:Runner\n...\n",
		"all keys": `
run: "run.py:Runner"
train: run.py:train
image: r8.im/someone/something
description: what it does
environment:
  - A=b
  - EMPTY=
concurrency:
  max: 4
  default_target: 2
observability:
  traces:
    enabled: true
    sampler: parentbased_traceidratio
    sampler_arg: "0.5"
    trace_header: x-trace
    trace_header_format: jaeger
  metrics: true
  config: telemetry.py
weights:
  - name: base
    source: {uri: "https://example.com/x", include: ["*.bin"]}
    target: weights/x
  - https://example.com/y
build:
  gpu: yes
  cuda: 11.8
  cudnn: 8
  python_version: 3.10
  python_requirements: requirements.txt
  system_packages: [ffmpeg, "libgl1"]
  pre_install: ["true"]
  sdk_version: 0.18.0a1
  run:
    - echo one
    - command: echo two
      mounts:
        - {type: secret, id: pip, target: /etc/pip.conf}
`,
		"empty keys":    "build:\nconcurrency:\nenvironment:\nimage:\nrun: run.py\nweights:\n",
		"texts of all":  "image: 3\nbuild:\n  python_packages:\n    - 3\n  cuda: '12.4.1'\n  python_version: '3.12.1'\n",
		"numbers":       "concurrency:\n  max: 4.0\n  default_target: 0x4\n",
		"exponents":     "concurrency:\n  max: 4e0\n  default_target: 1_0\n",
		"anchors":       "x-common: &common\n  gpu: false\n  python_version: '3.12'\nbuild:\n  <<: *common\n  gpu: true\nrun: run.py:a\n",
		"JSON":          `{"run": "run.py:a", "build": {"gpu": false}}`,
		"empty strings": "run: ''\npredict: run.py:a\ntrain: \"\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := cogYAMLFindings(t, text)
			assert.True(t, len(found) == 0, "found %q", found)
		})
	}
}

func TestCogyaml_ReadDebs(t *testing.T) {
	got := readDebs("bash\tinstalled\t\nmawk\tinstalled\tawk, other (= 1.2)\ngone\tconfig-files\tgone-too\nnot a line\n")
	for name, want := range map[string]bool{
		"bash": true, "mawk": true, "awk": true, "other": true, "gone": false,
		"gone-too": false, "not a line": false,
	} {
		assert.Equal(t, name, got[name], want)
	}
	delete(got, "")
	assert.Equal(t, fmt.Sprintf("it holds %v", got), len(got), 4)
}

// FuzzCogYAML: no file makes the check panic, and one without findings can be used.
func FuzzCogYAML(f *testing.F) {
	for _, text := range []string{
		"run: run.py:a\n", "a: &a\n  <<: *a\nb: *a\n", "? [a]\n: b\n", "!!map {a: b}\n",
		"a: |\n  b\n", "- - -\n", "&a [*a,*a]\n", "{a: 1, a: 2}\n---\n",
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, CogFile), []byte(text), 0o600))
		c := CheckCogYAML(dir)
		_, err := Find(dir, "run.py:a", func(string) string { return "" })
		assert.False(t, err != nil && len(c.Problems) == 0,
			"%q has no problem, and cannot be used: %v: got none, want at least one", text, err)
	})
}
