// The same request with OpenAI's client for Python, where the model's function has @cog.openai.

// SERVED has the client's method for each endpoint, and the method's parameters. Other inputs go into extra_body.
const SAMPLING = ["temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "logit_bias", "max_tokens", "n", "stop", "user"];
const SERVED = {
  chat: ["chat.completions.create", ["messages", "max_completion_tokens", "tools", "tool_choice", "response_format", "logprobs", "top_logprobs", "reasoning_effort", ...SAMPLING]],
  completions: ["completions.create", ["prompt", "suffix", "echo", "logprobs", "best_of", ...SAMPLING]],
  embeddings: ["embeddings.create", ["input", "dimensions", "user"]],
  transcriptions: ["audio.transcriptions.create", ["file", "language", "prompt", "temperature"]],
  images: ["images.generate", ["prompt", "n", "size", "quality", "style", "background", "user"]],
  speech: ["audio.speech.create", ["input", "voice", "instructions", "response_format", "speed"]],
};

// openAIEndpoint is the endpoint that the model's function answers; undefined means none.
function openAIEndpoint() {
  const endpoint = document.querySelector("main").dataset.openai && model.document?.paths?.["/predictions"]?.post?.["x-cog-openai"];
  return SERVED[endpoint] && endpoint;
}

const writesText = () => ["chat", "completions"].includes(openAIEndpoint());

function openAICode(url, input) {
  const endpoint = openAIEndpoint();
  const [method, known] = SERVED[endpoint];
  const streams = isStreaming() && writesText();
  const own = [["model", document.querySelector("main").dataset.openai]], extra = {};
  for (const [name, value] of Object.entries(input)) {
    if (known.includes(name)) own.push([name, value]);
    else extra[name] = value;
  }
  if (Object.keys(extra).length) own.push(["extra_body", extra]);
  if (streams) own.push(["stream", true]);
  const leaf = (value) => (value instanceof LocalFile && endpoint === "transcriptions" ? `open(${JSON.stringify(value.name)}, "rb")` : pythonLeaf(value));
  const used = usedBy(input);
  const lines = [];
  if (used.secrets || tokenOf()) lines.push("import os", "");
  lines.push(
    "from openai import OpenAI", "",
    `client = OpenAI(base_url=${JSON.stringify(serverURL(document.querySelector("main").dataset.root + "/v1"))}, api_key=${tokenOf() ? `os.environ["${TOKEN_VARIABLE}"]` : '"any"'})`,
    `answer = client.${method}(`,
    ...own.map(([name, value]) => `    ${name}=${literal(value, leaf, "    ")},`),
    ")",
    ...OPENAI_OUTPUT[streams ? `${endpoint} stream` : endpoint],
  );
  return lines.join("\n") + "\n";
}

const OPENAI_OUTPUT = {
  chat: ["print(answer.choices[0].message.content)"],
  "chat stream": ["for chunk in answer:", '    print(chunk.choices[0].delta.content or "", end="", flush=True)'],
  completions: ["print(answer.choices[0].text)"],
  "completions stream": ["for chunk in answer:", '    print(chunk.choices[0].text, end="", flush=True)'],
  embeddings: ["print(answer.data[0].embedding)"],
  transcriptions: ["print(answer.text)"],
  images: ["print(answer.data[0].url or answer.data[0].b64_json)"],
  speech: ['answer.write_to_file("speech.audio")'],
};
