// Asks tests/models/generative.py by the AI SDK: client.mjs ADDRESS CLASS.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  embedMany,
  experimental_generateImage as generateImage,
  experimental_generateSpeech as generateSpeech,
  experimental_transcribe as transcribe,
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
} from "ai";

const [, , address, name] = process.argv;
const server = { baseURL: `${address}/v1`, apiKey: "any" };
const openai = createOpenAI(server);
const compatible = createOpenAICompatible({ ...server, name: "pinion", includeUsage: true });
const maxRetries = 0;
const dictated = { model: openai.transcription("m"), maxRetries, audio: Buffer.from("one two") };

async function chat(model) {
  const asked = { model, maxRetries, system: "be short", temperature: 0, maxOutputTokens: 50 };
  const answer = await generateText({ ...asked, prompt: "hello" });
  assert.equal(answer.text, "hello");
  assert.equal(answer.finishReason, "stop");
  const stream = streamText({ ...asked, prompt: "hello", onError: ({ error }) => assert.fail(error) });
  let text = "";
  for await (const part of stream.textStream) text += part;
  assert.equal(text, "hello");
  assert.equal(await stream.finishReason, "stop");
}

async function callTools(model) {
  const cities = [];
  const weather = tool({
    description: "Say how the weather of a city is.",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute: async ({ city }) => {
      cities.push(city);
      return `it rains in ${city}`;
    },
  });
  const asked = { model, maxRetries, tools: { weather }, stopWhen: stepCountIs(3), prompt: 'call weather {"city": "Rome"}' };
  const answer = await generateText(asked);
  assert.equal(answer.text, "the tool said: it rains in Rome");
  const stream = streamText({ ...asked, onError: ({ error }) => assert.fail(error) });
  assert.equal(await stream.text, "the tool said: it rains in Rome");
  assert.deepEqual(cities, ["Rome", "Rome"]);
}

async function takeTurns(model, openai) {
  const asked = { model, maxRetries, providerOptions: { openai } };
  const first = await generateText({ ...asked, prompt: "hello" });
  const messages = [{ role: "user", content: "hello" }, ...first.response.messages, { role: "user", content: "again" }];
  return (await generateText({ ...asked, messages })).text;
}

async function countAndFail(model) {
  const asked = { model, maxRetries, prompt: "a long text" };
  const answer = await generateText(asked);
  assert.equal(answer.finishReason, "length");
  assert.equal(answer.usage.totalTokens, 4);
  const stream = streamText(asked);
  assert.equal(await stream.text, "a long text");
  assert.equal((await stream.usage).outputTokens, 3);
  await assert.rejects(generateText({ ...asked, prompt: "fail" }), (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.match(error.message, /the model failed/);
    return error.statusCode === 500;
  });
  const errors = [];
  await streamText({ ...asked, prompt: "a fail", onError: ({ error }) => errors.push(error) }).consumeStream();
  assert.match(JSON.stringify(errors.map((error) => error.message ?? error)), /the model failed/);
}

const cases = {
  async Agent() {
    for (const model of [compatible("m"), openai.chat("m"), openai("m")]) {
      await chat(model);
      await callTools(model);
    }
    for (const model of [compatible("m"), openai.chat("m")]) assert.equal(await takeTurns(model, {}), "again");
    assert.equal(await takeTurns(openai("m"), { store: false }), "again");
    await assert.rejects(takeTurns(openai("m"), {}), /send the item itself, .* "store": false/); // it refers to stored items
    const thought = await generateText({ model: compatible("m"), maxRetries, prompt: "think" });
    assert.equal(thought.reasoningText, "let me see");
  },
  async Chat() {
    for (const model of [compatible("m"), openai.chat("m"), openai("m")]) await countAndFail(model);
  },
  async Embedder() {
    for (const model of [compatible.embeddingModel("m"), openai.embedding("m")]) {
      const { embeddings } = await embedMany({ model, maxRetries, values: ["a", "bcd"] });
      assert.deepEqual(embeddings, [[1, 0.5, -1e-3], [3, 0.5, -1e-3]]);
    }
  },
  async Completer() {
    const { text } = await generateText({ model: compatible.completionModel("m"), maxRetries, prompt: "a prompt" });
    assert.match(text, /a prompt/);
  },
  async Painter() {
    for (const model of [compatible.imageModel("m"), openai.image("m")]) {
      const { image } = await generateImage({ model, maxRetries, prompt: "a dot", n: 1 });
      assert.equal(image.mediaType, "image/png");
    }
  },
  async Recording() {
    const { audio } = await generateSpeech({ model: openai.speech("m"), maxRetries, text: "a b" });
    assert.equal(audio.format, "mp3");
    assert.equal(audio.uint8Array.length, 3000);
  },
  async Speaking() {
    const { audio } = await generateSpeech({ model: openai.speech("m"), maxRetries, text: "a b", voice: "alloy" });
    assert.equal(Buffer.from(audio.uint8Array).toString(), "ab");
  },
  async Transcriber() {
    const answer = await transcribe({ ...dictated, providerOptions: { openai: { language: "fr" } } }); // verbose_json
    assert.equal(answer.text, "one two");
    assert.equal(answer.durationInSeconds, 1.5);
    assert.deepEqual(answer.segments.map((segment) => segment.text), ["one", "two"]);
  },
  async Dictation() {
    for (const openai of [{}, { prompt: "numbers" }]) {
      assert.equal((await transcribe({ ...dictated, providerOptions: { openai } })).text, "one two");
    }
  },
};
await cases[name]();
