// Runs tools by Anthropic's client, which at first asks for a thread that the server keeps: client.mjs ADDRESS.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "any", maxRetries: 0 });
for (const stream of [false, true]) {
  let calls = 0;
  const runner = client.beta.messages.toolRunner({
    model: "m",
    max_tokens: 50,
    stream,
    messages: [{ role: "user", content: 'call weather {"city": "Rome"}' }],
    tools: [
      {
        type: "custom",
        name: "weather",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
        parse: (input) => input,
        run: async ({ city }) => {
          calls++;
          return `it rains in ${city}`;
        },
      },
    ],
  });
  const final = await runner;
  assert.equal(calls, 1);
  assert.equal(final.content[0].text, "the tool said: it rains in Rome");
}
