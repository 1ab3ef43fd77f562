// Calls tests/models/tools.py:Text as m and Gate as slow by the official clients for JavaScript: client.mjs URL.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = new URL(process.argv[2]);
const clientInfo = { name: "test", version: "1" };

async function check(client) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["m", "slow"]);
  const said = await client.callTool({ name: "m", arguments: { text: "hi ", n: 2 } });
  assert.deepEqual(said.content, [{ type: "text", text: "hi hi " }]);
  const failed = await client.callTool({ name: "m", arguments: { text: "a", n: -1 } });
  assert(failed.isError && failed.content[0].text.includes("input n"), JSON.stringify(failed));
  const painted = await client.callTool({ name: "slow", arguments: {} });
  assert.deepEqual(painted.content, [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }]);
  await assert.rejects(client.callTool({ name: "other", arguments: {} }), /unknown tool/);
}

// The client of line 2 by both eras, the one of line 1 by its own.
for (const mode of ["auto", "legacy"]) {
  const client = new Client(clientInfo, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url));
  assert.equal(client.getNegotiatedProtocolVersion(), mode === "auto" ? "2026-07-28" : "2025-11-25");
  await check(client);
  await client.close();
}
const old = new OldClient(clientInfo);
await old.connect(new OldTransport(url));
await check(old);
await old.close();

// Tasks, whose requests the client of line 2 leaves to its host.
const protocolVersion = "2026-07-28";
const asked = [];
async function rawDispatch(request, options) {
  asked.push(request.method);
  const { name, taskId } = request.params;
  const answer = await fetch(url, {
    method: "POST",
    signal: options?.signal,
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": protocolVersion,
      "Mcp-Method": request.method,
      "Mcp-Name": name ?? taskId,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: asked.length, ...request }),
  });
  return answer.json();
}
const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(url));
const session = createTaskSessionFromClient(client, {
  endpointId: "test",
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: {} },
});
for (const [fail, text] of [[false, undefined], [true, "cannot paint that"]]) {
  const execution = await session.callTool("slow", { fail });
  const { outcome } = await execution.settle();
  const result = resultFromTaskOutcome(outcome);
  assert.equal(result.isError, fail);
  assert(result.content[0].text === undefined ? !fail : result.content[0].text.includes(text), JSON.stringify(result));
}
assert(asked.includes("tasks/get"), `no task was asked for: ${asked}`);
const endless = await session.callTool("slow", { gate: "gate" });
await endless.cancel();
assert.equal((await endless.settle()).outcome.status, "cancelled");
await session.close();
await client.close();
