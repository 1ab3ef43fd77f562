package protocols

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// agentsServer serves Text as m, and Gate, whose gate stays shut, as slow.
func agentsServer(t *testing.T) *harness.Server {
	t.Helper()
	slow := toolModel(t, "slow", "run: tools.py:Gate\n", "")
	_, folder, _ := strings.Cut(slow, "=")
	harness.MakeFIFO(t, folder, "gate")
	s := harness.Start(t, harness.Options{
		Models: []string{toolModel(t, "m", "run: tools.py:Text\n", ""), slow},
		Python: harness.AnyPython(t).Path, Args: []string{"--queue", "10"},
	})
	harness.WaitModels(t, s)
	return s
}

// TestMCPClients_JavaScript has the official clients for JavaScript of both lines ask, and that of tasks.
func TestMCPClients_JavaScript(t *testing.T) {
	t.Parallel()
	modules := harness.Tool(t, "clients/node_modules")
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "client.mjs"), assert.Must(os.ReadFile("clients/mcp_sdk.mjs"))(t))
	assert.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	s := agentsServer(t)
	harness.RunTool(t, dir, nil, "node", "client.mjs", s.Address+"/mcp")
}

// TestMCPClients_Agents has the clients of agents' frameworks for Python ask.
func TestMCPClients_Agents(t *testing.T) {
	t.Parallel()
	for venv, names := range map[string][]string{"mcp-agents": {"fastmcp", "pydantic_ai", "openai_agents"}, "mcp1-agents": {"langchain"}} {
		t.Run(venv, func(t *testing.T) {
			t.Parallel()
			python := harness.Tool(t, "venvs/"+venv+"/bin/python")
			s := agentsServer(t)
			for _, name := range names {
				harness.RunTool(t, t.TempDir(), nil, python, "-B", harness.Absolute(t, "clients/mcp_agents.py"), s.Address+"/mcp", name)
			}
		})
	}
}
