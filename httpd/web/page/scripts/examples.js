// Examples. Those of the document have inputs, which fill in the form; those of the model's folder cog_examples have outputs too.
// A file of that folder holds a prediction as the server answers it, in which a string that names another file stands for it.

const MAX_EXAMPLES = 24; // of the folder
const TYPES = { jpg: "image/jpeg", svg: "image/svg+xml", mp3: "audio/mpeg", m4a: "audio/mp4", txt: "text/plain", md: "text/markdown", json: "application/json", csv: "text/csv" };

// typeOfName is the media type of a file's name.
function typeOfName(name) {
  const ending = name.split(".").pop().toLowerCase();
  if (TYPES[ending]) return TYPES[ending];
  if (IMAGES.includes(ending)) return "image/" + ending;
  if (SOUNDS.includes(ending)) return "audio/" + ending;
  return FILMS.includes(ending) ? "video/" + ending : "application/octet-stream";
}

// modelExamples are the examples of the document: [{name, input}]. `@cog.example` is that of the input's schema; a document
// that comes with the model may have others at the request's body.
function modelExamples() {
  const body = operation().requestBody?.content?.["application/json"] ?? {};
  const named = Object.entries(body.examples ?? {}).map(([name, e]) => ({ name: e.summary ?? name, input: e.value?.input }));
  const own = body.example?.input ?? inputSchema().example;
  if (own) named.unshift({ name: "Example", input: own });
  return named.filter((example) => example.input);
}

let kept = []; // those of the folder: {name, input, result}

async function loadExamples() {
  const found = (kept = []); // a later call begins another list
  const files = new Set(about.examples);
  for (const file of [...files].filter((name) => name.endsWith(".json")).slice(0, MAX_EXAMPLES)) {
    try {
      const { input, ...result } = await withFiles(parseExact(await (await exampleFile(file)).text()), files);
      if (isRecord(input)) found.push({ name: file.replace(/\.json$/, "").replaceAll("_", " "), input, result: { status: "succeeded", ...result } });
    } catch {
      continue; // not a prediction: `pinion check` says why
    }
    showExamples();
  }
}

async function exampleFile(name) {
  const response = await request("/docs/examples/" + encodeURIComponent(name));
  if (!response.ok) throw new Error(`example ${name}: ${response.status}`);
  return response.blob();
}

// withFiles replaces strings that name a file of the folder with that file, as a data URL.
async function withFiles(value, files) {
  if (typeof value === "string") return files.has(value) ? (await readLocal(new File([await exampleFile(value)], value, { type: typeOfName(value) }))).data : value;
  if (!value || typeof value !== "object" || isExact(value)) return value;
  if (Array.isArray(value)) return Promise.all(value.map((part) => withFiles(part, files)));
  return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, part]) => [key, await withFiles(part, files)])));
}

function showExamples() {
  const all = isTraining() ? modelExamples() : [...modelExamples(), ...kept];
  $("examples").hidden = !all.length;
  $("examples").replaceChildren(...all.map(exampleButton));
  $("gallery").hidden = !kept.length || isTraining();
  $("gallery").replaceChildren(...kept.map(exampleCard));
}

function exampleButton(example) {
  const button = make("button", { type: "button", className: "plain" }, example.name);
  button.addEventListener("click", () => openExample(example));
  return button;
}

// exampleCard shows what an example made: its first picture, or the beginning of its text.
function exampleCard(example) {
  const picture = firstPicture(example.result.output);
  const look = picture ? make("img", { src: picture, alt: "" }) : make("span", { className: "text" }, shortText(example.result.output));
  const button = make("button", { type: "button", className: "plain example" }, look, make("span", {}, example.name));
  button.addEventListener("click", () => openExample(example));
  return make("li", {}, button);
}

const firstPicture = (value) => (typeof value === "string" ? mediaKind(value) === "image" && isDataURL(value) && value : value && typeof value === "object" && Object.values(value).map(firstPicture).find(Boolean));

function shortText(output) {
  const text = textOf(output, isText());
  return text.length > 160 ? text.slice(0, 160) + "…" : text;
}

function openExample({ input, result }) {
  if (running) return;
  buildForm();
  setInputs(input);
  formChanged();
  if (!result) return;
  showTab("result");
  showResult({ result: { input, ...result }, seconds: result.metrics?.predict_time ?? null, asText: isText() });
  $("state").append(", an example kept with the model");
  $("times").hidden = true; // it did not run here
  revealResult();
}

// saveExample downloads a prediction as a file for that folder, with the files of its input and without its secrets.
function saveExample({ input, result }) {
  const shown = replacer((given, value) => (given instanceof Secret ? undefined : value));
  const { output, metrics } = result;
  save(new Blob([JSON.stringify({ input, output, metrics }, shown, 2)], { type: "application/json" }), "example.json");
}
