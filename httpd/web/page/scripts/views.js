// How values are shown: texts, media, lists, tables, vectors, trees. `name` is the value's place in the output, after
// which its file is called.

const MAX_ROWS = 1000;
const MAX_COLUMNS = 100; // of a table; records that have more keys are shown as a tree
const MAX_SHOWN = 500_000; // characters of a text: browsers take seconds to lay out millions

function view(value, name) {
  if (typeof value === "string") return textView(value, name);
  if (!value || typeof value !== "object" || isExact(value)) return make("div", { className: "text" }, JSON.stringify(value));
  if (!Array.isArray(value)) return linesOf(value, name);
  if (value.length > 3 && value.every((x) => typeof x === "number")) return vectorView(value, name);
  if (value.length && value.every(isRecord)) return tableView(value, name);
  if (value.length && value.every((x) => typeof x === "string")) {
    const gallery = value.every((x) => mediaKind(x) === "image");
    return make("div", { className: gallery ? "gallery" : "items" }, ...value.map((x, i) => textView(x, `${name}-${i + 1}`)));
  }
  return treeView(value, name, true);
}

const isRecord = (x) => x && typeof x === "object" && !Array.isArray(x) && !isExact(x);

// textView shows a string: the file that it refers to, or the text.
function textView(value, name) {
  return isFileText(value) ? fileView(value, name) : textBox(value, name);
}

// textBox shows a text, or, below a link to the whole, the beginning of one that is too long to be shown.
function textBox(text, name) {
  if (text.length <= MAX_SHOWN) return make("div", { className: "text" }, text);
  const box = make("div", { className: "text cut", tabIndex: 0 }, text.slice(0, MAX_SHOWN));
  const file = `${name}.txt`, href = addressOf(text, text, "application/octet-stream");
  const words = `The first ${groups(MAX_SHOWN)} of ${groups(text.length)} characters. `;
  return make("div", {}, make("p", { className: "help" }, words, make("a", { href, download: file }, `Download ${file}`)), box);
}

// linePart is a text within a line or a table.
const linePart = (text, shown, name) => (text.length > MAX_SHOWN ? textBox(text, name) : shown);

// inner shows a value within another one: small values on the line, files and lists of numbers in their own views.
function inner(value, name) {
  if (typeof value === "string") return isFileText(value) ? fileView(value, name) : linePart(value, JSON.stringify(value), name);
  if (typeof value === "number") return numberView(value);
  if (!value || typeof value !== "object" || isExact(value) || isSmall(value)) return JSON.stringify(value);
  if (hasFile(value)) return view(value, name);
  if (Array.isArray(value) && value.length > 3 && value.every((x) => typeof x === "number")) return vectorView(value, name);
  return treeView(value, name, false);
}

// shortNumber returns a number with six significant digits and all digits of its whole part. The answer as JSON has all digits.
const shortNumber = (x) => String(Math.abs(x) >= 1e6 ? Math.round(x) : Number(x.toPrecision(Number.isInteger(x) ? 17 : 6)));

function numberView(x) {
  const short = shortNumber(x), whole = JSON.stringify(x);
  return short === whole ? whole : make("span", { title: whole }, short);
}

// isSmall reports whether a value fits on one line.
const isSmall = (value) => Object.keys(value).length <= 8 && !hasFile(value) && JSON.stringify(value).length <= 60;

// hasFile reports whether there is a file in a value. It looks at some of each list only.
function hasFile(value) {
  if (typeof value === "string") return isFileText(value);
  return Boolean(value) && typeof value === "object" && Object.values(value).slice(0, 100).some(hasFile);
}

function vectorView(numbers, name) {
  const shown = numbers.slice(0, 10000);
  const low = Math.min(...shown), high = Math.max(...shown), span = high - low || 1;
  const line = draw("path", { d: "M" + shown.map((y, x) => `${x},${1 - (y - low) / span}`).join("L") });
  const about = `${numbers.length} numbers from ${shortNumber(low)} to ${shortNumber(high)}`;
  const svg = draw(
    "svg",
    { class: "vector", viewBox: `0 -.05 ${shown.length - 1} 1.1`, preserveAspectRatio: "none", role: "img", "aria-label": about },
    line,
  );
  return make("div", {}, svg, make("p", { className: "help" }, about), treeView(numbers, name, false));
}

// textCell returns a cell of a table, which breaks only very long words.
const textCell = (text, shown) => make("td", { className: /\S{25}/.test(text) ? "long" : "" }, shown);

function tableView(rows, name) {
  const keys = [...new Set(rows.flatMap(Object.keys))];
  if (keys.length > MAX_COLUMNS) return treeView(rows, name, true);
  const cell = (row, key, i) => {
    const value = row[key];
    if (value === undefined) return make("td");
    if (typeof value === "string" && !isFileText(value)) return textCell(value, linePart(value, value, `${name}-${i + 1}-${key}`));
    if (typeof value === "number") return make("td", { className: "number" }, numberView(value));
    if (hasFile(value)) return make("td", {}, view(value, `${name}-${i + 1}-${key}`));
    return textCell(JSON.stringify(value), JSON.stringify(value));
  };
  const head = make("tr", {}, ...keys.map((key) => make("th", { scope: "col" }, key)));
  const body = rows.slice(0, MAX_ROWS).map((row, i) => make("tr", {}, ...keys.map((key) => cell(row, key, i))));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { className: "scrolls", tabIndex: 0 }, table, ...rest(rows.length));
}

function treeView(value, name, open) {
  const { length } = Object.keys(value);
  const summary = Array.isArray(value) ? `list of ${length}` : `object of ${length}`;
  const box = make("details", { open, className: "branch" }, make("summary", {}, summary));
  const fill = () => {
    if (box.children.length === 1) box.append(linesOf(value, name));
  };
  box.addEventListener("toggle", fill);
  if (open) fill();
  return box;
}

// linesOf shows each member of a list or an object on its own.
function linesOf(value, name) {
  const entries = Object.entries(value);
  const lines = entries
    .slice(0, MAX_ROWS)
    .map(([key, part]) => make("div", {}, make("span", { className: "member" }, key + ": "), inner(part, partName(name, value, key))));
  return make("div", { className: "tree" }, ...lines, ...rest(entries.length));
}

// partName is what the file of a part is called: by its key, or by its number from 1.
const partName = (name, value, key) => `${name}-${Array.isArray(value) ? Number(key) + 1 : key}`;

const rest = (length) => (length > MAX_ROWS ? [make("p", { className: "help" }, `… and ${length - MAX_ROWS} more`)] : []);
