package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pinion/runtime/logtext"
	"pinion/runtime/nearest"
)

// FirstVersion is the version of a model whose name has none.
const FirstVersion = "1"

// allShares is what the shares of a model's versions add up to.
const allShares = 100

var versionForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })

// SplitVersion splits ocr@2 into the model's name and its version; own means that the name has a version.
func SplitVersion(name string) (model, version string, own bool) {
	model, version, own = strings.Cut(name, "@")
	if !own {
		version = FirstVersion
	}
	return model, version, own
}

// WithVersion returns the whole name of a version: ocr@1 for ocr too.
func WithVersion(name string) string {
	model, version, _ := SplitVersion(name)
	return model + "@" + version
}

// IsVersionName reports whether name may be the name of a version of a model: NAME or NAME@VERSION.
func IsVersionName(name string) bool {
	model, version, _ := SplitVersion(name)
	return IsModelName(model) && versionForm().MatchString(version)
}

// Traffic is the shares of versions, by their whole names, in percent. Those of a model add up to 100.
type Traffic map[string]int

// CheckTraffic refuses shares of versions that are not among names, and those that do not add up.
func CheckTraffic(traffic Traffic, names []string) error {
	whole := make([]string, len(names))
	for i, name := range names {
		whole[i] = WithVersion(name)
	}
	sums := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(traffic)) {
		if err := checkVersion(name, whole); err != nil {
			return err
		}
		if share := traffic[name]; share < 0 || share > allShares {
			return fmt.Errorf("the share of %s is %d: must be 0 to 100", name, share)
		}
		model, _, _ := SplitVersion(name)
		sums[model] += traffic[name]
	}
	for _, model := range slices.Sorted(maps.Keys(sums)) {
		if sums[model] != allShares {
			return fmt.Errorf("the shares of %s add up to %d: must be 100", model, sums[model])
		}
	}
	return nil
}

// checkVersion refuses a version that is not among those with these whole names.
func checkVersion(name string, whole []string) error {
	if slices.Contains(whole, name) {
		return nil
	}
	return fmt.Errorf("unknown model %q: the versions are %s%s", logtext.Clip(name), strings.Join(whole, ", "),
		nearest.Hint(name, whole))
}

// checkMirrors refuses what cannot get copies of requests.
func checkMirrors(mirrors, names []string) error {
	whole := make([]string, len(names))
	count := map[string]int{}
	for i, name := range names {
		whole[i] = WithVersion(name)
		model, _, _ := SplitVersion(name)
		count[model]++
	}
	seen := map[string]bool{}
	for _, name := range mirrors {
		if err := checkVersion(name, whole); err != nil {
			return err
		}
		model, _, _ := SplitVersion(name)
		switch {
		case seen[model]:
			return fmt.Errorf("%s has two mirrors: give one", model)
		case count[model] < 2:
			return fmt.Errorf("%s is the only version of %s: a mirror needs another that serves", name, model)
		}
		seen[model] = true
	}
	return nil
}
