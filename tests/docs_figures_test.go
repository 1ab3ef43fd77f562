package tests

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return page{t, string(text), tableRows(string(text))}
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
	p.t.Fatalf("there is no cell %q, %q, %q, %q", heading, caption, name, column)
	return 0
}

// number is the first number in a text; thousands are set apart by spaces.
func (p page) number(text string) float64 {
	p.t.Helper()
	found := regexp.MustCompile(`-?\d[\d ]*(\.\d+)?`).FindString(text)
	n, err := strconv.ParseFloat(strings.ReplaceAll(found, " ", ""), 64)
	if err != nil {
		p.t.Fatalf("there is no number in %q", text)
	}
	return n
}

// said are the numbers that a sentence of the page has: the groups of an expression, in which a space stands for any.
func (p page) said(expression string) (numbers []float64) {
	p.t.Helper()
	m := regexp.MustCompile(strings.ReplaceAll(expression, " ", `\s+`)).FindStringSubmatch(p.text)
	if m == nil {
		p.t.Fatalf("nothing says %q", expression)
	}
	for _, group := range m[1:] {
		numbers = append(numbers, p.number(group))
	}
	return numbers
}

// near tells whether a number is another one, as exactly as its text has it: 8 is 8.2, 0.61 is not 0.62.
func near(t *testing.T, what string, said, measured, unit float64) {
	t.Helper()
	if math.Abs(said-measured) > unit*0.51 {
		t.Errorf("%s: %g is said, and %g was measured", what, said, measured)
	}
}

// TestTheFiguresOfTheREADME are those of docs/benchmarks.md.
func TestTheFiguresOfTheREADME(t *testing.T) {
	t.Parallel()
	readme, bench := readPage(t, "../README.md"), readPage(t, "../docs/benchmarks.md")
	const slow = "share of the bare handler's rate, a slow virtual machine"
	for ours, theirs := range map[string]string{
		"sync model": "Pinion", "async model, one at a time": "Pinion, async model", "async model, 32 at once": "Pinion, async model, 32 at once",
	} {
		near(t, ours, readme.figure("Benchmark", "", ours, slow), bench.figure("Echo", "Share of", theirs, "64 conn."), 0.01)
		var cell string
		for _, row := range bench.rows {
			if strings.HasPrefix(row.caption, "CPU seconds for a thousand") && strings.HasPrefix(row.heading, "Echo") && row.name == theirs {
				_, cell, _ = strings.Cut(row.cells["64 conn."], "(")
			}
		}
		near(t, ours+", CPU", readme.figure("Benchmark", "", ours, "CPU a request, times the bare handler's"), bench.number(cell), 0.1)
	}
	share := func(name string) float64 { return bench.figure("Echo", "Share of", name, "64 conn.") }
	rates := readme.said(`At 64 connections that is (\d+) times FastAPI's rate and (\d+) times MOSEC's on the slow machine`)
	near(t, "FastAPI's rate", rates[0], share("Pinion")/share("FastAPI, uvicorn"), 1)
	near(t, "MOSEC's rate", rates[1], share("Pinion")/share("MOSEC"), 1)
	aim := func(name string) float64 { return bench.figure("Aims", "", name, "measured") }
	near(t, "the median", -readme.said(`One connection: (\d+) µs \*below\*`)[0], aim("echo, 1 connection: median above the bare handler's"), 1)
	bodies := readme.said(`in and out: ([\d.]+) and ([\d.]+) of its rate`)
	near(t, "bodies of 1 MB", bodies[0], aim("1 MB bodies: share of the bare rate"), 0.01)
	near(t, "bodies of 10 MB", bodies[1], aim("10 MB bodies: share of the bare rate"), 0.01)
	for ours, theirs := range map[string]string{"inputs are arrays (`docs/arrays.md`)": "arrays", "inputs are lists": "lists"} {
		for column, connections := range map[string]string{"1 connection": "1 connection", "16": "16 connections", "64": "64 connections"} {
			near(t, ours+", "+column, readme.figure("Benchmark", "", ours, column),
				aim("network in batches, "+theirs+", "+connections+": MOSEC's best rate"), 0.01)
		}
	}
	batches := readme.said(`clients: ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+) with 1, 8, 32, 64 and 256 clients; MOSEC ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+)\.`)
	for i, column := range []string{"1 client", "8 clients", "32 clients", "64 clients", "256 clients"} {
		for k, name := range []string{"Pinion", "MOSEC"} {
			near(t, name+"'s batches, "+column, batches[k*5+i], bench.figure("Batches that take", "Rates by the bare handler's", name, column), 0.01)
		}
	}
}

// TestTheFiguresOfThePerformancePage that others have too are theirs.
func TestTheFiguresOfThePerformancePage(t *testing.T) {
	t.Parallel()
	performance, readme, bench := readPage(t, "../docs/performance.md"), readPage(t, "../README.md"), readPage(t, "../docs/benchmarks.md")
	rates := performance.said(`is (\d+ 000) to (\d+ 000) a second there instead of \d+ 000, ours ([\d.]+) of it instead of ([\d.]+), MOSEC's a tenth of ours`)
	share := func(name string) float64 { return bench.figure("Echo", "Share of", name, "64 conn.") }
	if bare := bench.figure("Echo", "Right answers", "bare fasthttp + sonic", "64 conn."); bare < rates[0] || bare > rates[1] {
		t.Errorf("the bare handler's rate is %g, and said to be from %g to %g", bare, rates[0], rates[1])
	}
	near(t, "our share", rates[2], share("Pinion"), 0.01)
	near(t, "our share on the faster machine", rates[3], readme.figure("Benchmark", "", "sync model", "a faster one"), 0.01)
	near(t, "MOSEC's part", 10, share("Pinion")/share("MOSEC"), 1)
	lone := performance.said(`with two cores (\d+) and (\d+), for Pinion stays awake`)
	for i, name := range []string{"Pinion", "bare fasthttp + sonic"} {
		near(t, name+"'s median", lone[i], 1000*bench.figure("Echo", "Median and", name, "1 conn."), 1)
	}
	aims := performance.said(`at one connection (\d+) µs above its median; at 64 connections ([\d.]+) of its`)
	near(t, "the aim for the median", aims[0], bench.figure("Aims", "", "echo, 1 connection: median above the bare handler's", "aim"), 1)
	near(t, "the aim for the share", aims[1], bench.figure("Aims", "", "echo, 64 connections, sync: share of the bare rate", "aim"), 0.01)
}

// TestTheStreamsOfTheREADME are those of docs/benchmarks.md, and no promise above the tables is larger than what they have.
func TestTheStreamsOfTheREADME(t *testing.T) {
	t.Parallel()
	readme, bench := readPage(t, "../README.md"), readPage(t, "../docs/benchmarks.md")
	const column = "20 000 tokens"
	streamed := func(caption, name, column string) float64 {
		t.Helper()
		for _, row := range bench.rows {
			if strings.HasPrefix(row.caption, caption) && row.name == name && row.cells[column] != "" {
				return bench.number(row.cells[column])
			}
		}
		t.Fatalf("there is no %s of %s", caption, name)
		return 0
	}
	names := map[string]string{}
	for _, row := range readme.rows {
		for prefix, theirs := range map[string]string{"Pinion": "Pinion", "FastAPI": "FastAPI, uvicorn", "Cog": "coglet (Cog)"} {
			if row.cells["tokens a second"] != "" && strings.HasPrefix(row.name, prefix) {
				names[row.name] = theirs
			}
		}
	}
	if len(names) != 3 {
		t.Fatalf("the table of streams has %v", names)
	}
	for ours, theirs := range names {
		near(t, ours, readme.figure("Benchmark", "", ours, "tokens a second"), streamed("Tokens a second", theirs, column), 100)
		near(t, ours+", first token", readme.figure("Benchmark", "", ours, "first token"), streamed("First token, ms", theirs, column), 0.01)
		if theirs != "Pinion" {
			near(t, ours+", times", readme.figure("Benchmark", "", ours, "Pinion is"), streamed("Pinion's rate is so many times", theirs, column), 1)
		}
	}
	least := readme.said(`more than (\d+) times the tokens a second of Cog's runtime, (\d+) times or more those of FastAPI`)
	for i, name := range []string{"coglet (Cog)", "FastAPI, uvicorn"} {
		for _, column := range []string{"1 000 tokens", column} {
			if times := streamed("Pinion's rate is so many times", name, column); times < least[i] {
				t.Errorf("README promises %g times the rate of %s, docs/benchmarks.md has %g", least[i], name, times)
			}
		}
	}
}

// TestVersionsThatTheDocumentsName are those of the binary, of go.mod, and of the measurements.
func TestVersionsThatTheDocumentsName(t *testing.T) {
	t.Parallel()
	readme, bench := readPage(t, "../README.md").text, readPage(t, "../docs/benchmarks.md").text
	architecture, modules := readPage(t, "../ARCHITECTURE.md").text, readPage(t, "../go.mod").text
	one := func(text, expression string) string {
		t.Helper()
		m := regexp.MustCompile(expression).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("nothing says %q", expression)
		}
		return m[1]
	}
	cog := one(cli{}.good(t, "version"), `cog interface (\S+)`)
	for what, got := range map[string]string{
		"README, the runtime of Cog": one(readme, `Cog (\d[\d.]*\d)'s own runtime`), "docs/benchmarks.md, coglet": one(bench, `coglet \(Cog\): (\d[\d.]*\d)`),
	} {
		if got != cog {
			t.Errorf("%s: %s, and the interface is that of %s", what, got, cog)
		}
	}
	for what, versions := range map[string][2]string{
		"FastAPI":  {one(readme, `FastAPI (\d[\d.]*\d) on`), one(bench, `FastAPI, uvicorn: (\d[\d.]*\d)`)},
		"uvicorn":  {one(readme, `on uvicorn (\d[\d.]*\d)`), one(bench, `, uvicorn (\d[\d.]*\d)`)},
		"Python":   {one(readme, `\(Python (3\.\d+), `), one(bench, `Python (3\.\d+\.\d+)`)},
		"fasthttp": {one(architecture, `\| valyala/fasthttp (\d[\d.]*\d) \|`), one(modules, `github.com/valyala/fasthttp v(\S+)`)},
		"the page": {one(bench, `fasthttp (\d[\d.]*\d), sonic`), one(modules, `github.com/valyala/fasthttp v(\S+)`)},
		"sonic":    {one(bench, `, sonic (\d[\d.]*\d)`), one(modules, `github.com/bytedance/sonic v(\S+)`)},
	} {
		if versions[1] != versions[0] && !strings.HasPrefix(versions[1], versions[0]+".") {
			t.Errorf("%s: %s beside %s", what, versions[0], versions[1])
		}
	}
}

// TestThePythonsThatTheDocumentsName: the oldest is the one that the code refuses to go below, and ranges are the same everywhere.
func TestThePythonsThatTheDocumentsName(t *testing.T) {
	t.Parallel()
	oldest := "3." + regexp.MustCompile(`oldest = version\{major: 3, minor: (\d+)\}`).FindStringSubmatch(readPage(t, "../pyembed/locate/version.go").text)[1]
	found, ranges := 0, map[string]string{}
	texts := allDocuments(t)
	texts["../build.sh"] = readPage(t, "../build.sh").text
	for path, text := range texts {
		for _, m := range regexp.MustCompile(`(?:every Python\W+|CPython )from (3\.\d+) on|CPython (3\.\d+) or|Python (3\.\d+) and up`).FindAllStringSubmatch(text, -1) {
			found++
			if got := m[1] + m[2] + m[3]; got != oldest {
				t.Errorf("%s says %q, and the oldest is %s", path, m[0], oldest)
			}
		}
	}
	for _, path := range []string{"../build.sh", "../ARCHITECTURE.md", "../third_party/cpy3/README.md"} {
		ranges[regexp.MustCompile(`3\.\d+ to 3\.\d+`).FindString(texts[path])] = path // the first in each is of all that are served
	}
	if found < 4 || len(ranges) != 1 {
		t.Errorf("%d documents name the oldest, and the ranges are %v", found, ranges)
	}
}

// TestDefaultsThatTheDocumentsName are those of --help.
func TestDefaultsThatTheDocumentsName(t *testing.T) {
	t.Parallel()
	help := cli{}.good(t, "help", "serve") + cli{}.good(t, "help", "batching")
	units := map[string]string{"s": "s", "seconds": "s", "minutes": "m0s", "MiB": "", "GiB": ""}
	found := 0
	for path, text := range allDocuments(t) {
		for _, m := range regexp.MustCompile("`-{1,2}([a-z-]+)`\\s+\\((\\d+) (s|seconds|minutes|MiB|GiB)\\)").FindAllStringSubmatch(text, -1) {
			found++
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			want := m[2] + units[m[3]]
			switch m[3] {
			case "MiB":
				want = strconv.Itoa(n << 20)
			case "GiB":
				want = strconv.Itoa(n << 30)
			}
			if !regexp.MustCompile(`(?m)-` + m[1] + `\b[^\n]*(\n[^\n]*)?\(default ` + want + `\)`).MatchString(help) {
				t.Errorf("%s: %s, which is not the default of --help", path, m[0])
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d defaults found", found)
	}
}
