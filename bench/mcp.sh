#!/usr/bin/env bash
# Measures: calls of an echo tool by MCP at 64 connections, beside the native route, LitServe's MCP server and FastMCP.
# Run: bench/mcp.sh [--rounds N] … (--help lists the rest)
# Needs: Go, wrk, Python (BENCH_PYTHON), an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "bench: wrk is missing: apt-get install wrk" >&2; exit 2; }
source bench/lib/install.sh
choose_python
if [[ " $* " != *" --help "* ]]; then
  ./build.sh >/dev/null
  install mcp-fastmcp bench/protocols/mcp/fastmcp.txt
  install mcp-litserve bench/peers/litserve/requirements.txt bench/protocols/mcp/litserve.txt
fi
exec "$python" bench/mcp.py --venvs "$venvs" "$@"
