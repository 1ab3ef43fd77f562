//go:build pinion_test

package pyembed

import (
	"encoding/json"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestJSONDumps_Values(t *testing.T) {
	const noNaN = " cannot be written: JSON has no NaN or infinity"
	const tooDeep = "ValueError: nested deeper than 500 levels, or contains itself, at "
	dots := "..." + strings.Repeat("[0]", 65)

	cases := []struct {
		name, value, fallback string // Python expressions
		pair                  bool   // value gives (value, fallback), and may change with the call
		want                  string // the text
		wantExpr              string // or an expression for it
		err                   string // or the type of the exception, and its text
	}{
		{name: "None", value: `None`, want: `null`},
		{name: "bools", value: `[True, False]`, want: `[true,false]`},
		{
			name: "ints", value: `[0, 7, -1, 10, 99, 100, 12345, -2**63, 2**63 - 1]`,
			want: `[0,7,-1,10,99,100,12345,-9223372036854775808,9223372036854775807]`,
		},
		{name: "big ints", value: `[2**63, -2**64, 10**600, 10**4300]`, wantExpr: `model_dumps([2**63, -2**64, 10**600, 10**4300]).decode()`},
		{name: "digits at the bound", value: `-(10**100000 - 1)`, wantExpr: `"-" + "9" * 100000`},
		{name: "digits above the bound", value: `[10**100000]`, err: "ValueError: int of more than 100000 digits, at [0]"},
		{name: "far above the bound", value: `{10**100000 * 2**9: 1}`, err: "ValueError: int of more than 100000 digits"},
		{
			name: "floats", value: `[0.0, -0.0, 1.0, -1.5, 0.1, 1e15, 1e16, 1.5e16, 1e-4, 1e-5, 123456.789, 5e-324, 1.7976931348623157e308]`,
			want: `[0.0,-0.0,1.0,-1.5,0.1,1000000000000000.0,1e+16,1.5e+16,0.0001,1e-05,123456.789,5e-324,1.7976931348623157e+308]`,
		},
		{
			name:  "floats near powers",
			value: `[0.30000000000000004, 0.25, 9007199254740993.0, 9999999999999998.0, 999999999999999.9, 0.00012345678901234567]`,
			want:  `[0.30000000000000004,0.25,9007199254740992.0,9999999999999998.0,999999999999999.9,0.00012345678901234567]`,
		},
		{
			name: "a tie between two shortest", value: `[549755813888.03125, 549755813888.09375]`,
			wantExpr: `repr([549755813888.03125, 549755813888.09375]).replace(" ", "")`,
		},
		{name: "nan", value: `{"a": [1.0, math.nan]}`, err: `ValueError: nan` + noNaN + `, at ["a"][1]`},
		{name: "infinity", value: `math.inf`, err: `ValueError: infinity` + noNaN},
		{name: "negative infinity", value: `(-math.inf,)`, err: `ValueError: infinity` + noNaN + `, at [0]`},
		{name: "nan as key", value: `{math.nan: 1}`, err: `ValueError: nan` + noNaN},

		{name: "strings", value: `["", "abc", "\u00e4\u20ac\U0001f600\ufeff\x7f"]`, want: "[\"\",\"abc\",\"ä€😀\ufeff\x7f\"]"},
		{name: "escapes", value: `"\"\\/\b\f\n\r\t\0\x1f"`, want: `"\"\\/\b\f\n\r\t\u0000\u001f"`},
		{
			name: "escape after a block", value: `"x" * 47 + "\n" + "y" * 33 + "\""`,
			want: `"` + strings.Repeat("x", 47) + `\n` + strings.Repeat("y", 33) + `\""`,
		},
		{name: "only escapes", value: `"\n" * 1000`, want: `"` + strings.Repeat(`\n`, 1000) + `"`},
		{name: "lone surrogate", value: `["ok\ud800"]`, err: `ValueError: str with a lone surrogate, U+D800 at index 2, has no UTF-8 form, at [0]`},
		{
			name: "lone surrogate in a key", value: `{"a": {"\udfff": 1}}`,
			err: `ValueError: str with a lone surrogate, U+DFFF at index 0, has no UTF-8 form, at ["a"]`,
		},

		{name: "containers", value: `[[], {}, (), [1, [2]], (3,), {"a": {"b": ()}}]`, want: `[[],{},[],[1,[2]],[3],{"a":{"b":[]}}]`},
		{name: "order of keys", value: `{"b": 1, "a": 2, "": 3}`, want: `{"b":1,"a":2,"":3}`},
		{
			name: "keys of other types", value: `{1: 0, 2.5: 1, True: 2, None: 3, False: 4, 2**70: 5, 1e16: 6}`,
			want: `{"1":2,"2.5":1,"null":3,"false":4,"1180591620717411303424":5,"1e+16":6}`,
		},
		{
			name: "keys of subclasses", value: `{Str("s"): 0, Int(5): 1, Float(1.5): 2, Number.ONE: 3, Word.YES: 4}`,
			want: `{"s":0,"5":1,"1.5":2,"1":3,"yes":4}`,
		},
		{
			name: "tuple as key", value: `{"a": [{(1, 2): 3}]}`,
			err: `TypeError: keys of a dict must be str, int, float, bool or None for JSON, not tuple, at ["a"][0]`,
		},
		{name: "deepest", value: `nest(499, [])`, wantExpr: `"[" * 500 + "]" * 500`},
		{name: "deepest leaf", value: `nest(500, 7)`, wantExpr: `"[" * 500 + "7" + "]" * 500`},
		{name: "too deep", value: `nest(500, [])`, err: tooDeep + dots},
		{name: "dicts at the bound", value: `nest_dicts(500)`, wantExpr: `'{"a":' * 499 + "{}" + "}" * 499`},
		{name: "dicts too deep", value: `nest_dicts(501)`, err: tooDeep + `...` + strings.Repeat(`["a"]`, 39)},
		{name: "cyclic list", value: `cyclic_list()`, err: tooDeep + dots},
		{name: "cyclic dict", value: `cyclic_dict()`, err: tooDeep + "..." + strings.Repeat(`["self"]`, 24)},

		{
			name: "subclasses", value: `[Str("s"), Int(5), Int(2**80), Float(0.5), Dict(a=1), List([1]), Point(1, 2)]`,
			want: `["s",5,1208925819614629174706176,0.5,{"a":1},[1],[1,2]]`,
		},
		{name: "OrderedDict has its own order", value: `moved()`, want: `{"b":2,"a":1}`},
		{
			name: "defaultdict and Counter", value: `[collections.defaultdict(int, a=1), collections.Counter("aab"), Dict()]`,
			want: `[{"a":1},{"a":2,"b":1},{}]`,
		},
		{name: "items overridden", value: `Items(z=1)`, want: `{"k":1,"l":2}`},
		{name: "items gives no pairs", value: `[BadItems()]`, err: `ValueError: items() of a dict subclass must give pairs, at [0]`},
		{name: "items raises", value: `[RaisingItems()]`, err: `KeyError: 'items'`},
		{name: "enum without fallback", value: `Color.RED`, err: `TypeError: jsontest_cases.Color has no JSON form`},
		{name: "enums of a base without fallback", value: `[Number.ONE, Word.YES]`, want: `[1,"yes"]`},
		{
			name: "enums with fallback", value: `[Color.RED, Number.ONE, {"a": Word.YES}]`, fallback: `value_of`,
			want: `[["enum","red"],["enum",1],{"a":["enum","yes"]}]`,
		},
		{name: "bool is not a fallback", value: `[True, None]`, fallback: `raising`, want: `[true,null]`},

		{name: "other type", value: `{"boxes": [1, {"at": Plain()}]}`, err: `TypeError: jsontest_cases.Plain has no JSON form, at ["boxes"][1]["at"]`},
		{name: "built-in type", value: `b"x"`, err: `TypeError: bytes has no JSON form`},
		{
			name:  "a long key in the place",
			value: `{"` + strings.Repeat("k", 41) + `": {"` + strings.Repeat("k", 38) + `": b""}}`,
			err:   `TypeError: bytes has no JSON form, at ["..."]["` + strings.Repeat("k", 38) + `"]`,
		},
		{name: "key of another type in the place", value: `{"ä\"": {5: object()}}`, err: `TypeError: object has no JSON form, at ["ä\""]["5"]`},
		{name: "fallback", value: `[{3, 1, 2}, {"s": frozenset()}]`, fallback: `value_of`, want: `[[1,2,3],{"s":[]}]`},
		{name: "fallback knows no more", value: `[{1: {4}}, b""]`, fallback: `value_of`, err: `TypeError: bytes has no JSON form, at [1]`},
		{
			name: "fallback's own answer is wrong", value: `[{"a"}]`,
			fallback: `lambda o: [1j] if isinstance(o, set) else NotImplemented`,
			err:      `TypeError: complex has no JSON form, at [0][0]`,
		},
		{name: "fallback raises", value: `{"a": [Plain()]}`, fallback: `raising`, err: `LookupError: from fallback`},
		{name: "fallback without end", value: `Plain()`, fallback: `ever_new`, err: strings.TrimSuffix(tooDeep, ", at ")},
		{name: "fallback not callable", value: `Plain()`, fallback: `5`, err: `TypeError: 'int' object is not callable`},

		{name: "dict emptied", pair: true, value: `clearing(dict_target)`, want: `{"a":50,"b":{"c":50,"d":[50,"12345"]},"678906789067890":"99999"}`},
		{name: "list emptied", pair: true, value: `clearing(list_target)`, want: `[50]`},
		{
			name: "dicts emptied at two levels", pair: true, value: `nested_clearing()`,
			want: `{"inner":{"xxxxx":0,"yyyyy":"` + strings.Repeat("z", 50) + `"},"afterafterafter":"` +
				strings.Repeat("w", 50) + `"}`,
		},
		{
			name: "dict emptied, keys no str", pair: true, value: `key_clearing()`,
			want: `{"1` + strings.Repeat("0", 40) + `":{},"2.5":"123123123123123123123123123","null":"n"}`,
		},
		{name: "dict grown", pair: true, value: `growing(lambda: {"a": Plain(), "b": 1}, lambda t, i: t.update({str(i): i}))`, want: `{"a":"grown","b":1}`},
		{name: "list grown", pair: true, value: `growing(lambda: [Plain()], lambda t, i: t.append(i) if i < 3 else None)`, want: `["grown",0,1,2]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data := assert.Must(json.Marshal(map[string]any{
				"value": c.value, "fallback": c.fallback, "pair": c.pair,
				"want": c.want, "want_expr": c.wantExpr, "error": c.err,
			}))(t)
			check(t, "check_dump", string(data))
		})
	}
}
