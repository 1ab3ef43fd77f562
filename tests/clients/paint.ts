// Uses the types that openapi-typescript has made of the document, by openapi-fetch: paint.js URL. The compiler holds every
// access below to the document; what the server really answers is compared here.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.js";

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

const done = await client.POST("/predictions", { body: { input: { prompt: "a cat", steps: 5, style: "ink" } } });
assert.equal(done.response.status, 200);
assert.equal(done.data?.status, "succeeded");
assert.deepEqual(done.data?.output, { prompt: "a cat", steps: 5, style: "ink", size: 0 });

const wrong = await client.POST("/predictions", { body: { input: { prompt: "x", steps: 77 } } });
assert.equal(wrong.response.status, 422);
const problem = wrong.error as components["schemas"]["HTTPValidationError"];
assert.equal(problem.detail?.[0]?.msg, "77 is greater than the maximum of 9");

const form = await client.POST("/predictions", {
  body: { prompt: "a dog", image: "12345" },
  bodySerializer: (fields) => {
    const parts = new FormData();
    for (const [name, value] of Object.entries(fields ?? {})) {
      parts.append(name, name === "image" ? new File([String(value)], "x.png") : String(value));
    }
    return parts;
  },
});
assert.equal(form.data?.output?.size, 5);

const path = { prediction_id: "t1" };
const started = await client.PUT("/predictions/{prediction_id}", {
  params: { path, header: { prefer: "respond-async" } },
  body: { input: { prompt: "wait" } },
});
assert.equal(started.response.status, 202);
assert.equal(started.data?.status, "starting");
const busy = await client.POST("/predictions", { body: { input: { prompt: "x" } } });
assert.equal(busy.response.status, 409);
assert.match((busy.error as components["schemas"]["ServerRefusal"]).error, /capacity/);
assert.equal((await client.POST("/predictions/{prediction_id}/cancel", { params: { path } })).response.status, 200);
let state: components["schemas"]["PredictionState"] | undefined;
do {
  state = (await client.GET("/predictions/{prediction_id}", { params: { path } })).data;
} while (state && !state.completed_at);
assert.equal(state?.status, "canceled");
assert.equal(state?.input?.["prompt"], "wait");

const unknown = await client.GET("/predictions/{prediction_id}", { params: { path: { prediction_id: "nobody" } } });
assert.equal(unknown.response.status, 404);

const health = await client.GET("/health-check");
const status: components["schemas"]["ServerHealth"]["status"] | undefined = health.data?.status;
assert.equal(status, "READY");
assert.equal((await client.GET("/readyz")).response.status, 200);
assert.match((await client.GET("/metrics", { parseAs: "text" })).data ?? "", /pinion_/);
const trained = await client.POST("/trainings", { body: { input: { epochs: 4 } } });
assert.equal(trained.data?.output, "trained 4");
