// Reads a stream and an answer in JSON by openapi-fetch: speak.js URL. Of several types of one answer, the client is told which
// it asks for.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./openapi.js";

const client = createClient<paths, "application/json">({ baseUrl: process.argv[2] ?? "" });

const stream = await client.POST("/predictions", {
  body: { input: { words: 2 } },
  headers: { Accept: "text/event-stream" },
  parseAs: "text",
});
assert.equal(stream.response.headers.get("Content-Type"), "text/event-stream");
const events = String(stream.data).split("\n").filter((line) => line.startsWith("event: "));
assert.deepEqual(events, ["event: start", "event: output", "event: output", "event: completed"]);

const whole = await client.POST("/predictions", { body: { input: { words: 2 } } });
assert.deepEqual(whole.data?.output, ["word0 ", "word1 "]);
