// The same request as code for a shell, Python and JavaScript. It works as it is pasted: files are read from the folder it
// is run in, secrets are taken from the environment.

const CODE = { curl: curlCode, python: pythonCode, javascript: javascriptCode, openai: openAICode };

function showCode() {
  if (!model.document) return;
  const chosen = document.querySelector("[data-code][aria-pressed=true]").dataset.code;
  $("code").replaceChildren(...colored(CODE[chosen](serverURL("/" + collection()), inputs()), chosen));
}

// literal writes a value as JSON does, over several lines where one would be long. leaf(value) writes what is no list and
// no object.
function literal(value, leaf, indent = "") {
  if (!value || typeof value !== "object" || value instanceof Secret || value instanceof LocalFile || isExact(value)) return leaf(value);
  const list = Array.isArray(value);
  const deeper = indent + "  ";
  const parts = Object.entries(value).map(([k, v]) => (list ? "" : leaf(k) + ": ") + literal(v, leaf, deeper));
  const [open, close] = list ? "[]" : "{}";
  const flat = open + parts.join(", ") + close;
  if (flat.length + indent.length <= 80 && !flat.includes("\n")) return flat;
  return `${open}\n${parts.map((part) => deeper + part).join(",\n")}\n${indent}${close}`;
}

// ---- curl ----

const quote = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

function curlCode(url, input) {
  let begin = isStreaming() ? `curl -sN ${url} \\\n  -H 'Accept: text/event-stream'` : `curl -s ${url}`;
  if (tokenOf()) begin += ` \\\n  -H "Authorization: Bearer $${TOKEN_VARIABLE}"`;
  const { files } = usedBy(input);
  if (files && Object.entries(input).every(isPart)) {
    return [begin, ...Object.entries(input).flatMap(partsOf)].join(" \\\n  ");
  }
  if (files) return `${begin} \\\n  -H 'Content-Type: application/json' -d @- <<END\n${literal({ input }, documentLeaf)}\nEND`;
  return `${begin} \\\n  -H 'Content-Type: application/json' \\\n  -d '${literal({ input }, wordLeaf)}'`;
}

// wordLeaf writes within a word in single quotes.
function wordLeaf(value) {
  if (value instanceof Secret) return `"'"$${value.variable}"'"`;
  return JSON.stringify(value).replaceAll("'", "'\\''");
}

// documentLeaf writes within a here-document, in which the shell replaces variables and commands.
function documentLeaf(value) {
  if (value instanceof Secret) return `"$${value.variable}"`;
  if (value instanceof LocalFile) return `"data:${value.type};base64,$(base64 < ${quote(value.name)} | tr -d '\\n')"`;
  return JSON.stringify(value).replace(/[\\$`]/g, "\\$&");
}

const REQUEST_KEYS = ["id", "input", "context", "created_at", "output_file_prefix", "webhook", "webhook_events_filter"];

// isPart reports whether an input can be a part of a form: its name is no key of a request, and the server can tell from
// its type how to read it.
function isPart([name, value]) {
  const { schema } = fields.find((f) => f.name === name);
  if (REQUEST_KEYS.includes(name) || !schema.type) return false;
  const { files, secrets } = usedBy(value);
  const plain = !files && !secrets;
  return plain || value instanceof Secret || (files && [value].flat().every((v) => v instanceof LocalFile));
}

function partsOf([name, value]) {
  const all = Array.isArray(value) && value[0] instanceof LocalFile ? value : [value];
  return all.map((one) => {
    if (one instanceof Secret) return `--form-string ${quote(name + "=")}"$${one.variable}"`;
    if (one instanceof LocalFile) return `-F ${quote(`${name}=@"${one.name.replace(/[\\"]/g, "\\$&")}"`)}`;
    return `--form-string ${quote(`${name}=${typeof one === "string" ? one : JSON.stringify(one)}`)}`;
  });
}

// ---- Python ----

function pythonCode(url, input) {
  const used = usedBy(input);
  const streams = isStreaming();
  const modules = [used.files && "base64", "json", (used.secrets || tokenOf()) && "os", "urllib.request"].filter(Boolean);
  const lines = [`import ${modules.join(", ")}`, ""];
  if (used.files) {
    lines.push("def data_url(path, media_type):");
    lines.push('    return f"data:{media_type};base64," + base64.b64encode(open(path, "rb").read()).decode()', "");
  }
  const headers = ['"Content-Type": "application/json"'];
  if (streams) headers.push('"Accept": "text/event-stream"');
  if (tokenOf()) headers.push(`"Authorization": "Bearer " + os.environ["${TOKEN_VARIABLE}"]`);
  lines.push(
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    data=json.dumps(${literal({ input }, pythonLeaf, "    ")}).encode(),`,
    `    headers={${headers.join(", ")}},`,
    ")",
  );
  if (!streams) {
    lines.push("prediction = json.load(urllib.request.urlopen(request))", 'print(prediction.get("output", prediction.get("error")))');
  } else {
    lines.push(
      "for line in urllib.request.urlopen(request):",
      '    name, _, value = line.decode().rstrip("\\n").partition(": ")',
      '    if name == "event":',
      "        event = value",
      '    elif name == "data" and event == "output":',
      '        print(json.loads(value)["chunk"], end="", flush=True)',
    );
  }
  return lines.join("\n") + "\n";
}

function pythonLeaf(value) {
  if (value instanceof Secret) return `os.environ["${value.variable}"]`;
  if (value instanceof LocalFile) return `data_url(${JSON.stringify(value.name)}, ${JSON.stringify(value.type)})`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

// usedBy returns what a value needs beside JSON.
function usedBy(value) {
  const used = { files: value instanceof LocalFile, secrets: value instanceof Secret };
  if (!value || typeof value !== "object" || used.files || used.secrets) return used;
  for (const part of Object.values(value).map(usedBy)) {
    used.files ||= part.files;
    used.secrets ||= part.secrets;
  }
  return used;
}

// ---- JavaScript ----

function javascriptCode(url, input) {
  const streams = isStreaming();
  const lines = [];
  if (usedBy(input).files) {
    lines.push('const { readFile } = await import("node:fs/promises");');
    lines.push('const dataURL = async (path, type) => `data:${type};base64,${(await readFile(path)).toString("base64")}`;', "");
  }
  const headers = ['"Content-Type": "application/json"'];
  if (streams) headers.push('Accept: "text/event-stream"');
  if (tokenOf()) headers.push(`Authorization: "Bearer " + process.env.${TOKEN_VARIABLE}`);
  lines.push(
    `const response = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    `  headers: { ${headers.join(", ")} },`,
    `  body: JSON.stringify(${literal({ input }, javascriptLeaf, "  ")}),`,
    "});",
  );
  if (!streams) {
    lines.push("const prediction = await response.json();", "console.log(prediction.output ?? prediction.error);");
  } else {
    lines.push(
      'let rest = "";',
      "for await (const text of response.body.pipeThrough(new TextDecoderStream())) {",
      '  const events = (rest + text).split("\\n\\n");',
      "  rest = events.pop();",
      '  for (const event of events.filter((e) => e.startsWith("event: output"))) {',
      '    process.stdout.write(String(JSON.parse(event.slice(event.indexOf("data: ") + 6)).chunk));',
      "  }",
      "}",
    );
  }
  return lines.join("\n") + "\n";
}

function javascriptLeaf(value) {
  if (isExact(value)) return `JSON.rawJSON("${JSON.stringify(value)}")`;
  if (value instanceof Secret) return `process.env.${value.variable}`;
  if (value instanceof LocalFile) return `await dataURL(${JSON.stringify(value.name)}, ${JSON.stringify(value.type)})`;
  return JSON.stringify(value);
}
