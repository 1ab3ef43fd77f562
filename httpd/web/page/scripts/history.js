// The history. IndexedDB keeps it across reloads, without secrets and files; what ran since the page was loaded is complete.

const MAX_HISTORY = 50; // of one model
const MAX_ENTRY = 200_000; // characters of an entry that is kept

// modelKey names the model in what the browser keeps: the same server may have several.
const modelKey = () => `${new URL(".", location.href).pathname} ${model.document?.info?.title ?? ""}`;

let visits = []; // the entries that are shown, the newest first: {at, kind, result, seconds, asText, input, isRecalled}

// store runs an action on the database's entries. Without a database the history ends with the page.
function store(mode, action) {
  return new Promise((done) => {
    let opening;
    try {
      opening = indexedDB.open("pinion", 1);
    } catch {
      return done(undefined);
    }
    opening.onupgradeneeded = () => opening.result.createObjectStore("runs", { autoIncrement: true }).createIndex("model", "model");
    opening.onerror = () => done(undefined);
    opening.onsuccess = () => {
      const database = opening.result, change = database.transaction("runs", mode);
      const answer = action(change.objectStore("runs"));
      database.close(); // once the change has ended
      change.oncomplete = () => done(answer?.result);
      change.onabort = change.onerror = () => done(undefined);
    };
  });
}

const keptPart = replacer((given, value) => {
  if (given instanceof Secret || given instanceof LocalFile || (typeof value === "string" && isDataURL(value))) return undefined;
  return value;
});

// keptEntry is an entry as JSON, without secrets and files.
function keptEntry({ at, kind, result, seconds, asText, input }) {
  const secret = new Set(fields.filter((f) => isSecret(f.schema)).map((f) => f.name));
  const inputs = Object.fromEntries(Object.entries(input).filter(([name]) => !secret.has(name)));
  const { input: sent, ...answer } = result;
  const text = JSON.stringify({ at, kind, seconds, asText, input: inputs, result: answer }, keptPart);
  if (text.length <= MAX_ENTRY) return text;
  return JSON.stringify({ at, kind, seconds, asText, input: inputs, result: { status: result.status, error: result.error, isCut: true } }, keptPart);
}

async function addToHistory(ended) {
  const entry = { ...ended, at: Date.now() };
  visits.unshift(entry);
  visits.splice(MAX_HISTORY);
  showHistory();
  const text = keptEntry(entry);
  if (text.length > MAX_ENTRY) return;
  await store("readwrite", (runs) => runs.add({ model: modelKey(), entry: text }));
  await store("readwrite", (runs) => {
    runs.index("model").getAllKeys(modelKey()).onsuccess = (e) => e.target.result.slice(0, -MAX_HISTORY).forEach((key) => runs.delete(key));
  });
}

async function recallHistory() {
  const rows = (await store("readonly", (runs) => runs.index("model").getAll(modelKey()))) ?? [];
  visits = rows.reverse().map((row) => ({ ...parseExact(row.entry), isRecalled: true }));
  showHistory();
}

async function forgetHistory() {
  await store("readwrite", (runs) => {
    runs.index("model").getAllKeys(modelKey()).onsuccess = (e) => e.target.result.forEach((key) => runs.delete(key));
  });
  visits = [];
  showHistory(); // says that nothing is kept once that is so: a page that is left ends what the database does
  $("tab-history").focus();
}

function showHistory() {
  $("history-count").textContent = visits.length || "";
  $("forget").hidden = !visits.length;
  $("history").replaceChildren(...visits.map(historyRow));
  if (!visits.length) $("history").append(make("li", { className: "help" }, "Nothing yet."));
}

const shownPart = replacer((given, value) => (given instanceof Secret ? "**********" : given instanceof LocalFile ? given.name : value));

function historyRow(entry) {
  const words = Object.entries(entry.input).map(([name, v]) => `${name}: ${typeof v === "string" ? v : JSON.stringify(v, shownPart)}`).join(", ") || "no inputs";
  const day = new Date(entry.at).toDateString() === new Date().toDateString() ? "" : new Date(entry.at).toLocaleDateString() + " ";
  const picture = firstPicture(entry.result.output);
  const open = make("button", { type: "button", className: "plain" }, picture ? make("img", { src: picture, alt: "" }) : "", words.length > 140 ? words.slice(0, 140) + "…" : words);
  open.addEventListener("click", () => openEntry(entry));
  const row = make("li", {}, make("span", { className: "help" }, day + new Date(entry.at).toLocaleTimeString(), ` in ${timeText(entry.seconds)}`), chipOf(entry.result.status), open);
  if (entry.result.status === "succeeded" && !entry.isRecalled) {
    const keep = make("button", { type: "button", className: "plain", title: "A file for the model's folder cog_examples" }, "Save as an example");
    keep.addEventListener("click", () => saveExample(entry));
    row.append(keep);
  }
  return row;
}

// openEntry shows a run again: its inputs in the form, its result beside it.
function openEntry(entry) {
  if (running) return;
  if (entry.kind === collection()) {
    buildForm();
    setInputs(entry.input);
    formChanged();
  }
  showTab("result");
  showResult(entry);
  if (entry.isRecalled) $("state").append(entry.result.isCut ? ", before a reload; its output was too large to be kept" : ", before a reload; files are not kept");
  revealResult();
}
