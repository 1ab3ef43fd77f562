package usertext

import (
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pinion/tests/assert"
)

// values are what the settings of these tests set.
type values struct {
	on     bool
	count  int
	large  int64
	word   string
	list   []string
	wait   time.Duration
	size   Bytes
	limit  time.Duration
	secret string
}

func (v *values) settings() Settings {
	return Settings{
		{To: &v.on, Name: "on"},
		{To: &v.count, Name: "count", Init: 3, Min: 1, Max: 9},
		{To: &v.large, Name: "large", Variable: NoVariable},
		{To: &v.word, Name: "word", Init: "hot", Words: []string{"hot", "cold"}},
		{To: &v.list, Name: "list", Init: []string{"a"}, Words: []string{"a", "b", "c"}, Idle: func() string { return "on Sundays" }},
		{To: &v.wait, Name: "wait", Init: time.Minute, Min: int64(time.Second), IsCogs: true, Variable: "COG_WAIT", Default: "a while"},
		{To: &v.size, Name: "size", Init: "1KiB"},
		{To: &v.limit, Name: "limit", Init: time.Second, Min: 1},
		{To: &v.secret, Variable: "SECRET"},
	}
}

// TestSetting_FlagThenVariableThenInit: a flag overrides its variable, and a variable what holds without one.
func TestSetting_FlagThenVariableThenInit(t *testing.T) {
	var v values
	f, list := pflag.NewFlagSet("", pflag.ContinueOnError), v.settings()
	list.Bind(f)
	assert.True(t, v.count == 3 && v.word == "hot" && v.wait == time.Minute && v.size == 1024 && slices.Equal(v.list, []string{"a"}),
		"got %+v, want what holds without a value", v)
	assert.NoError(t, f.Parse([]string{"--on", "--list", "b", "--list", "c, a", "--count", "9"}))
	env := map[string]string{
		"PINION_COUNT": "2", "PINION_WORD": "cold", "PINION_LARGE": "7", "COG_WAIT": "90", "PINION_SIZE": "2KiB", "SECRET": "s",
	}
	warnings := assert.Must(list.Read(f, func(name string) string { return env[name] }))(t)
	assert.True(t, v.on && v.count == 9 && v.word == "cold" && v.large == 0 && v.wait == 90*time.Second && v.size == 2048 &&
		v.secret == "s" && slices.Equal(v.list, []string{"b", "c", "a"}), "got %+v, %q, want flags before variables", v, warnings)
	assert.True(t, list.Given(&v.count) && list.Given(&v.secret) && !list.Given(&v.large), "got other settings as given")
	assert.EqualSlices(t, "warnings", list.Idle(f), []string{"--list has no effect on Sundays"})
}

// TestSetting_WrongValues say of the flag and of the variable what would be right.
func TestSetting_WrongValues(t *testing.T) {
	for _, c := range []struct{ flag, value, variable, want string }{
		{"on", "maybe", "PINION_ON", `"maybe": must be true or false`},
		{"count", "10", "PINION_COUNT", "10: must be 1 to 9"},
		{"count", "many", "PINION_COUNT", `"many": must be a whole number`},
		{"large", "-1", "", "-1: must be at least 0"},
		{"word", "colt", "PINION_WORD", `"colt": must be hot or cold; did you mean "cold"?`},
		{"list", "a,d", "PINION_LIST", `"d": must be a, b or c`},
		{"wait", "1ms", "COG_WAIT", "1ms: must be at least 1s"},
		{"limit", "0s", "PINION_LIMIT", "0: must be more than 0"},
		{"wait", "90", "", `"90": must be a time with its unit, as 500ms, 30s or 1m30s`},
	} {
		var v values
		f, list := pflag.NewFlagSet("", pflag.ContinueOnError), v.settings()
		list.Bind(f)
		err := FlagValueError(f.Parse([]string{"--" + c.flag + "=" + c.value}))
		assert.True(t, err != nil && err.Error() == "--"+c.flag+" "+c.want, "got %v, want --%s %s", err, c.flag, c.want)
		if c.variable == "" {
			continue
		}
		warnings, err := list.Read(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) string {
			return map[string]string{c.variable: c.value}[name]
		})
		if c.variable == "COG_WAIT" {
			assert.EqualSlices(t, "warnings", warnings, []string{"COG_WAIT is ignored: " + c.want})
			continue
		}
		assert.True(t, err != nil && err.Error() == c.variable+": "+c.want, "got %v, want %s: %s", err, c.variable, c.want)
	}
}

// TestSetting_Remark is what help, manual and documents say of variable and default.
func TestSetting_Remark(t *testing.T) {
	want := []string{
		" (PINION_ON)", " (PINION_COUNT; default: 3)", "", " (PINION_WORD; default: hot)", " (PINION_LIST; default: a)",
		" (COG_WAIT; default: a while)", " (PINION_SIZE; default: 1KiB)", " (PINION_LIMIT; default: 1s)", " (SECRET)",
	}
	for i, s := range new(values).settings() {
		assert.Equal(t, s.Name, s.Remark(), want[i])
	}
}
