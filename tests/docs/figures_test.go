package docs

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// tableRow is a row of a Markdown table: the heading above it, the text before its table, and its cells, by column.
type tableRow struct {
	heading, caption string
	name             string // the first cell
	cells            map[string]string
}

// tableRows are the rows of a document's tables.
func tableRows(text string) (rows []tableRow) {
	heading, caption := "", ""
	var columns []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading, caption, columns = strings.TrimLeft(line, "# "), "", nil
		case !strings.HasPrefix(line, "|"):
			columns = nil
			if line != "" {
				caption = line
			}
		case strings.HasPrefix(line, "|---"):
		default:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if columns == nil {
				columns = cells
				continue
			}
			row := tableRow{heading, caption, cells[0], map[string]string{}}
			for i := 1; i < min(len(cells), len(columns)); i++ {
				row.cells[columns[i]] = cells[i]
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// page is a document and its tables.
type page struct {
	t    *testing.T
	text string
	rows []tableRow
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	text := harness.ReadFile(t, path)
	return page{t, text, tableRows(text)}
}

// figure is the number at the beginning of a cell. The heading and the caption are named by their beginnings.
func (p page) figure(heading, caption, name, column string) float64 {
	p.t.Helper()
	for _, row := range p.rows {
		if strings.HasPrefix(row.heading, heading) && strings.HasPrefix(row.caption, caption) && row.name == name {
			if cell, ok := row.cells[column]; ok {
				return p.number(cell)
			}
		}
	}
	p.t.Fatalf("got no cell %q, %q, %q, %q, want one", heading, caption, name, column)
	return 0
}

// number is the first number in a text; thousands are set apart by spaces.
func (p page) number(text string) float64 {
	p.t.Helper()
	found := regexp.MustCompile(`-?\d[\d ]*(\.\d+)?`).FindString(text)
	n, err := strconv.ParseFloat(strings.ReplaceAll(found, " ", ""), 64)
	if err != nil {
		p.t.Fatalf("got no number in %q, want one", text)
	}
	return n
}

// said are the numbers that a sentence of the page has: the groups of an expression, in which a space stands for any.
func (p page) said(expression string) (numbers []float64) {
	p.t.Helper()
	m := regexp.MustCompile(strings.ReplaceAll(expression, " ", `\s+`)).FindStringSubmatch(p.text)
	assert.TrueNow(p.t, m != nil, "nothing says %q", expression)
	for _, group := range m[1:] {
		numbers = append(numbers, p.number(group))
	}
	return numbers
}

// near reports whether a number is another one, as exactly as its text has it: 8 is 8.2, 0.61 is not 0.62.
func near(t *testing.T, what string, said, measured, unit float64) {
	t.Helper()
	assert.True(t, math.Abs(said-measured) <= unit*0.51,
		"%s: %g is said, and %g was measured, want at most %v", what, said, measured, unit*0.51)
}

// TestFigures_OfREADME are those of docs/reference/benchmarks.md.
func TestFigures_OfREADME(t *testing.T) {
	t.Parallel()
	readme, bench := readPage(t, "../README.md"), readPage(t, "../docs/reference/benchmarks.md")
	share := func(name string) float64 { return bench.figure("Echo", "Share of", name, "64 conn.") }
	rates := readme.said(`64 connections \| (\d+) times as fast as FastAPI, (\d+) times as fast as MOSEC`)
	near(t, "FastAPI's rate", rates[0], share("Pinion")/share("FastAPI, uvicorn"), 1)
	near(t, "MOSEC's rate", rates[1], share("Pinion")/share("MOSEC"), 1)
	tokens := readme.said(`20 000 tokens \| (\d+) times as fast as FastAPI, (\d+) times as fast as Cog's own runtime`)
	for i, name := range []string{"FastAPI, uvicorn", "coglet (Cog)"} {
		near(t, "tokens beside "+name, tokens[i], bench.streamed("Pinion's rate as a multiple", name, "20 000 tokens"), 1)
	}
	arrays := readme.said(`batches of arrays, 64 connections \| ([\d.]+) times as fast as MOSEC`)
	near(t, "the network in batches", arrays[0],
		bench.figure("Aims", "", "network in batches, arrays, 64 connections: rate beside MOSEC's best", "measured"), 0.1)
}

// TestFigures_OfPerformancePage are those of docs/reference/benchmarks.md.
func TestFigures_OfPerformancePage(t *testing.T) {
	t.Parallel()
	page, bench := readPage(t, "../docs/explanation/performance.md"), readPage(t, "../docs/reference/benchmarks.md")
	const beside, share = "Beside other servers", "share of the bare handler's rate"
	for ours, theirs := range map[string]string{
		"sync model": "Pinion", "async model, one at a time": "Pinion, async model",
		"async model, 32 at once": "Pinion, async model, 32 at once",
	} {
		near(t, ours, page.figure(beside, "", ours, share), bench.figure("Echo", "Share of", theirs, "64 conn."), 0.01)
		var cell string
		for _, row := range bench.rows {
			if strings.HasPrefix(row.caption, "CPU seconds for a thousand") && strings.HasPrefix(row.heading, "Echo") &&
				row.name == theirs {
				_, cell, _ = strings.Cut(row.cells["64 conn."], "(")
			}
		}
		near(t, ours+", CPU", page.figure(beside, "", ours, "CPU time of a request, times the bare handler's"),
			bench.number(cell), 0.1)
	}
	echo := func(name string) float64 { return bench.figure("Echo", "Share of", name, "64 conn.") }
	rates := page.said(`That is (\d+) times FastAPI's rate and (\d+) times MOSEC's\.`)
	near(t, "FastAPI's rate", rates[0], echo("Pinion")/echo("FastAPI, uvicorn"), 1)
	near(t, "MOSEC's rate", rates[1], echo("Pinion")/echo("MOSEC"), 1)
	measured := func(name string) float64 { return bench.figure("Aims", "", name, "measured") }
	near(t, "the median", -page.said(`the median is (\d+) µs \*below\*`)[0],
		measured("echo, 1 connection: median above the bare handler's"), 1)
	bodies := page.said(`in and out, have ([\d.]+) and ([\d.]+) of its rate`)
	near(t, "bodies of 1 MB", bodies[0], measured("1 MB bodies: share of the bare rate"), 0.01)
	near(t, "bodies of 10 MB", bodies[1], measured("10 MB bodies: share of the bare rate"), 0.01)
	for ours, theirs := range map[string]string{
		"inputs are [arrays](../how-to/arrays.md)": "arrays",
		"inputs are lists":                         "lists",
	} {
		for column, connections := range map[string]string{
			"1 connection": "1 connection", "16": "16 connections",
			"64": "64 connections",
		} {
			near(t, ours+", "+column, page.figure(beside, "", ours, column),
				measured("network in batches, "+theirs+", "+connections+": rate beside MOSEC's best"), 0.01)
		}
	}
	for _, column := range []string{"1 client", "8 clients", "32 clients", "64 clients", "256 clients"} {
		for _, name := range []string{"Pinion", "MOSEC"} {
			near(t, name+"'s batches, "+column, page.figure(beside, "Batches of a model", name, column),
				bench.figure("Batches that take", "Share of the bare handler's rate", name, column), 0.01)
		}
	}
	near(t, "the start", page.figure("Other costs", "", "start to READY, beyond `python3 -c pass`", "cost"),
		measured("start to READY, beyond `python3 -c pass`"), 1)
	near(t, "the front's memory", page.figure("Other costs", "", "memory of the front at rest", "cost"),
		measured("front's memory at rest"), 0.1)
	near(t, "idle connections", page.figure("Other costs", "", "10 000 idle connections", "cost"),
		measured("10 000 idle connections"), 1)
	near(t, "a cancel", page.figure("Other costs", "", "cancel of a busy loop, request to answer", "cost"),
		bench.figure("Cancel", "Median", "Pinion", "busy loop"), 0.01)
	near(t, "the missed share", page.said(`64 connections: ([\d.]+) instead of 0.80`)[0],
		measured("echo, 64 connections, sync: share of the bare rate"), 0.01)
	near(t, "a small request beside a large one", page.said(`beside a 50 MB one: ([\d.]+) ms`)[0],
		measured("small request beside a 50 MB one, p99"), 0.1)
	aims := page.said(`at one connection (\d+) µs above the bare handler's\s+median, at 64 connections ([\d.]+) of its rate`)
	near(t, "the aim for the median", aims[0],
		bench.figure("Aims", "", "echo, 1 connection: median above the bare handler's", "aim"), 1)
	near(t, "the aim for the share", aims[1],
		bench.figure("Aims", "", "echo, 64 connections, sync: share of the bare rate", "aim"), 0.01)
}

// TestFigures_OfExperiments that docs/reference/benchmarks.md has too are the same there.
func TestFigures_OfExperiments(t *testing.T) {
	t.Parallel()
	experiments, bench := readPage(t, "../docs/experiments.md"), readPage(t, "../docs/reference/benchmarks.md")
	rates := experiments.said(`is (\d+ 000) to (\d+ 000) a second, as its neighbours leave it, instead of \d+ 000\.` +
		` When it is quiet, Pinion has ([\d.]+) of it instead of [\d.]+, and MOSEC has a sixth of Pinion's`)
	share := func(name string) float64 { return bench.figure("Echo", "Share of", name, "64 conn.") }
	if bare := bench.figure("Echo", "Correct answers", "bare fasthttp + sonic", "64 conn."); bare < rates[0] ||
		bare > rates[1] {
		t.Errorf("the bare handler's rate is %g, and said to be from %g to %g, want %v to %v", bare, rates[0], rates[1],
			rates[0], rates[1])
	}
	near(t, "our share", rates[2], share("Pinion"), 0.01)
	near(t, "MOSEC's part", 6, share("Pinion")/share("MOSEC"), 1)
	single := experiments.said(`takes (\d+) µs with Pinion and (\d+) µs with the bare handler`)
	for i, name := range []string{"Pinion", "bare fasthttp + sonic"} {
		near(t, name+"'s median", single[i], 1000*bench.figure("Echo", "Median and", name, "1 conn."), 1)
	}
}

// TestFigures_StreamsOfPerformancePage are those of docs/reference/benchmarks.md.
func TestFigures_StreamsOfPerformancePage(t *testing.T) {
	t.Parallel()
	page, bench := readPage(t, "../docs/explanation/performance.md"), readPage(t, "../docs/reference/benchmarks.md")
	const column = "20 000 tokens"
	names := map[string]string{}
	for _, row := range page.rows {
		for prefix, theirs := range map[string]string{
			"Pinion": "Pinion", "FastAPI": "FastAPI, uvicorn",
			"Cog": "coglet (Cog)",
		} {
			if row.cells["tokens a second"] != "" && strings.HasPrefix(row.name, prefix) {
				names[row.name] = theirs
			}
		}
	}
	assert.EqualNow(t, fmt.Sprintf("the table of streams has %v", names), len(names), 3)
	for ours, theirs := range names {
		near(t, ours, page.figure("Beside other servers", "A stream", ours, "tokens a second"),
			bench.streamed("Tokens a second", theirs, column), 100)
		near(t, ours+", first token", page.figure("Beside other servers", "A stream", ours, "first token"),
			bench.streamed("First token, ms", theirs, column), 0.01)
		if theirs != "Pinion" {
			near(t, ours+", times", page.figure("Beside other servers", "A stream", ours, "Pinion is"),
				bench.streamed("Pinion's rate as a multiple", theirs, column), 1)
		}
	}
}

// streamed is the first number of a cell whose caption begins so, of the first table that has its column.
func (p page) streamed(caption, name, column string) float64 {
	p.t.Helper()
	for _, row := range p.rows {
		if strings.HasPrefix(row.caption, caption) && row.name == name && row.cells[column] != "" {
			return p.number(row.cells[column])
		}
	}
	p.t.Fatalf("got no %s of %s, want one", caption, name)
	return 0
}

// TestFigures_VersionsThatDocumentsName are those of the binary, of go.mod, and of the measurements.
func TestFigures_VersionsThatDocumentsName(t *testing.T) {
	t.Parallel()
	performance, bench := readPage(t, "../docs/explanation/performance.md").text,
		readPage(t, "../docs/reference/benchmarks.md").text
	decisions, modules := readPage(t, "../docs/explanation/decisions.md").text, readPage(t, "../go.mod").text
	match := func(text, expression string) string {
		t.Helper()
		m := regexp.MustCompile(expression).FindStringSubmatch(text)
		assert.TrueNow(t, m != nil, "nothing says %q", expression)
		return m[1]
	}
	cog := match(harness.CLI{}.Good(t, "version"), `cog interface (\S+)`)
	for what, got := range map[string]string{
		"the page of costs, the runtime of Cog": match(performance, `Cog (\d[\d.]*\d)'s own runtime`),
		"docs/reference/benchmarks.md, coglet":  match(bench, `coglet \(Cog\): (\d[\d.]*\d)`),
	} {
		assert.Equal(t, what, got, cog)
	}
	for what, versions := range map[string][2]string{
		"FastAPI": {match(performance, `FastAPI (\d[\d.]*\d) on`), match(bench, `FastAPI, uvicorn: (\d[\d.]*\d)`)},
		"uvicorn": {match(performance, `on uvicorn (\d[\d.]*\d)`), match(bench, `, uvicorn (\d[\d.]*\d)`)},
		"Python":  {match(performance, `\(Python (3\.\d+), `), match(bench, `Python (3\.\d+\.\d+)`)},
		"fasthttp": {
			match(decisions, `\| valyala/fasthttp (\d[\d.]*\d) \|`),
			match(modules, `github.com/valyala/fasthttp v(\S+)`),
		},
		"the page": {match(bench, `fasthttp (\d[\d.]*\d), sonic`), match(modules, `github.com/valyala/fasthttp v(\S+)`)},
		"sonic":    {match(bench, `, sonic (\d[\d.]*\d)`), match(modules, `github.com/bytedance/sonic v(\S+)`)},
	} {
		assert.True(t, versions[1] == versions[0] || strings.HasPrefix(versions[1], versions[0]+"."),
			"%s: %s beside %s, want %q or starting with %q", what, versions[0], versions[1], versions[0], versions[0]+".")
	}
}

// TestFigures_DefaultsThatDocumentsName are those of --help.
func TestFigures_DefaultsThatDocumentsName(t *testing.T) {
	t.Parallel()
	help := harness.CLI{}.Good(t, "help", "serve", "all") + harness.CLI{}.Good(t, "help", "batching")
	units := map[string]string{"s": "s", "seconds": "s", "minutes": "m", "MiB": "", "GiB": ""}
	found := 0
	for path, text := range allDocuments(t) {
		for _, m := range regexp.MustCompile(
			"`-{1,2}([a-z-]+)`\\s+\\((\\d+) (s|seconds|minutes|MiB|GiB)\\)").FindAllStringSubmatch(text, -1) {
			found++
			n := assert.Must(strconv.Atoi(m[2]))(t)
			want := m[2] + units[m[3]]
			switch m[3] {
			case "MiB":
				want = strconv.Itoa(n << 20)
			case "GiB":
				want = strconv.Itoa(n << 30)
			}
			if !regexp.MustCompile(`(?m)-` + m[1] + `\b[^\n]*(\n[^\n]*)?(?:\(|; )default: ` + want + `\)`).MatchString(help) {
				t.Errorf("%s: got %s, want the default of --help", path, m[0])
			}
		}
	}
	assert.True(t, found >= 5, "only %d defaults found, want at least 5", found)
}
