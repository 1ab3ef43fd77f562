// Ask tests/models/replicate.py by Replicate's client for JavaScript: ADDRESS TOKEN.

import assert from "node:assert/strict";
import { createServer } from "node:http";

import Replicate, { validateWebhook } from "replicate";

const [address, auth] = process.argv.slice(2);
const client = new Replicate({ auth, baseUrl: `${address}/v1` });

assert.deepEqual(await client.run("acme/m", { input: { text: "a b" } }), ["a ", "b "]);
const version = (await client.models.get("acme", "m")).latest_version.id;
assert.deepEqual(await client.run(`acme/m:${version}`, { input: { text: "a" }, wait: { mode: "poll", interval: 10 } }), ["a "]);
await assert.rejects(client.run("acme/m", { input: { text: "fail" } }), /the model failed/);
await assert.rejects(client.run("acme/other", { input: {} }), /404/);

const events = [];
for await (const event of client.stream("acme/m", { input: { text: "a lines" } })) events.push([event.event, event.data]);
assert.deepEqual(events, [["output", "a "], ["output", "a\nb \nc"], ["output", "lines "], ["done", "{}"]]);

assert.deepEqual(await client.run("acme/m", { input: { file: Buffer.from("in a buffer") } }), ["in ", "a ", "buffer "]);
assert.deepEqual(await client.run("acme/m", { input: { files: [new Blob(["one"]), new Blob(["two"])] } }), ["one ", "two "]);
const file = await client.files.create(new File(["z"], "z.txt"), { a: 1 });
assert.deepEqual([file.name, file.size, file.metadata], ["z.txt", 1, { a: 1 }]);
assert.equal((await client.files.get(file.id)).etag, file.etag);
assert.equal((await client.files.list()).results.length, 4);
assert.equal(await client.files.delete(file.id), true);

let prediction = await client.predictions.create({ version, input: { text: "a forever" } });
await client.predictions.cancel(prediction.id);
prediction = await client.wait(prediction, { interval: 10 });
assert.equal(prediction.status, "canceled");
prediction = await client.deployments.predictions.create("acme", "m", { input: { text: "a" }, wait: true });
assert.deepEqual([prediction.status, prediction.output], ["succeeded", ["a "]]);
assert.equal((await client.deployments.get("acme", "m")).current_release.version, version);

const delivered = new Promise((resolve) => {
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    response.end();
    server.close();
    resolve({ headers: request.headers, body: Buffer.concat(parts).toString() });
  }).listen(0, "127.0.0.1", () => {
    client.predictions.create({
      model: "acme/m", input: { text: "a" }, webhook: `http://127.0.0.1:${server.address().port}/`,
      webhook_events_filter: ["completed"],
    });
  });
});
const secret = (await client.webhooks.default.secret.get()).key;
const webhook = await delivered;
assert.equal(await validateWebhook(webhook, secret), true);
assert.equal(await validateWebhook({ ...webhook, body: `${webhook.body} ` }, secret), false);
assert.equal(JSON.parse(webhook.body).status, "succeeded");
