package workers

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// summedItems yields the sum of each item over all ranks: a rank that got another one would change it.
var summedItems = map[string]string{
	"sync": `
    def run(self, numbers: Iterator[int]) -> Iterator[int]:
        for n in numbers:
            yield self.group.sum(n)
`,
	"async": `
    async def run(self, numbers: AsyncIterator[int]) -> AsyncIterator[int]:
        async for n in numbers:
            yield self.group.sum(n)
`,
	"bytes": `
    def run(self, numbers: Iterator[bytes]) -> Iterator[int]:
        for n in numbers:
            time.sleep(0.002 * RANK)
            yield self.group.sum(len(n))
`,
}

// TestRanks_StreamedInputs: all ranks get the items that come while the model runs, also more of them than may wait, and
// large ones. The group stays after clients that leave.
func TestRanks_StreamedInputs(t *testing.T) {
	t.Parallel()
	for name, run := range summedItems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head, _, _ := strings.Cut(ranksModel, "    def run(")
			s := ranksOf(t, 3, "from collections.abc import AsyncIterator, Iterator\n"+head+run, harness.Options{Args: []string{"--queue", "4"}})
			before := rankPIDs(s)
			item, size := func(n int) string { return fmt.Sprint(n) }, func(n int) int { return n }
			if name == "bytes" { // of base64; the last ones are passed in files
				size = func(n int) int { return 3 * n * n * n }
				item = func(n int) string { return `"` + strings.Repeat("AAAA", n*n*n) + `"` }
			}
			const count = 40
			for round := range 3 {
				body, items := io.Pipe()
				leaves := round == 1
				go func() {
					fmt.Fprint(items, `{"input": {}}`+"\n")
					for n := range count {
						fmt.Fprint(items, item(n)+"\n")
					}
					if !leaves {
						items.Close()
					}
				}()
				response := s.Open(t, http.MethodPost, "/predictions", body, "Content-Type", "application/x-ndjson", "Accept",
					"text/event-stream")
				events, sums := bufio.NewScanner(response.Body), []string{}
				for len(sums) < count && events.Scan() {
					if _, data, ok := strings.Cut(events.Text(), `data: {"chunk":`); ok {
						sums = append(sums, strings.TrimSuffix(strings.Split(data, ",")[0], "}"))
					}
				}
				assert.EqualNow(t, "items", len(sums), count)
				for n, sum := range sums {
					assert.Equal(t, fmt.Sprint("sum ", n), sum, fmt.Sprint(3*size(n)))
				}
				if leaves {
					response.Body.Close()
				} else {
					for events.Scan() && !strings.Contains(events.Text(), `"status":"succeeded"`) {
					}
					assert.Contains(t, "the end", events.Text(), "succeeded")
				}
				items.Close()
			}
			assert.EqualSlices(t, "processes", rankPIDs(s), before)
		})
	}
}
