// Markdown as elements: headings, lists, quotes, tables, code, links. HTML in it is shown as text, and
// pictures are links, because the text is not trusted.

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/s;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/s;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

const MAX_DEPTH = 8; // of quotes and lists within each other
const MAX_INLINE = 10_000; // characters of a paragraph in which marks are looked for

// markdownBlocks splits a text into [source, element()] pairs, one for each block.
function markdownBlocks(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at++;
      continue;
    }
    const [end, element] = blockAt(lines, at, depth);
    blocks.push([lines.slice(at, end).join("\n"), element]);
    at = end;
  }
  return blocks;
}

// blockAt returns the end of the block that begins at a line, and a function that makes its element.
function blockAt(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return fenceAt(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [at + 1, () => make("h" + Math.min(6, heading[1].length + 2), {}, ...inline(headingText(heading[2])))];
  if (RULE.test(line)) return [at + 1, () => make("hr")];
  if (line.startsWith(">") && depth < MAX_DEPTH) return quoteAt(lines, at, depth);
  if (ITEM.test(line) && depth < MAX_DEPTH) return listAt(lines, at, depth);
  if (line.includes("|") && cellsOf(lines[at + 1] ?? "").every((cell) => /^:?-+:?$/.test(cell))) return tableAt(lines, at);
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end])) end++;
  return [end, () => make("p", {}, ...inline(lines.slice(at, end).join("\n")))];
}

const startsBlock = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || line.startsWith(">") || ITEM.test(line);

// headingText is a heading without the signs that may close it.
function headingText(text) {
  const bare = text.trim();
  let end = bare.length;
  while (bare[end - 1] === "#") end--;
  return bare.slice(0, end).trimEnd();
}

function fenceAt(lines, at, [, mark, language]) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().replaceAll(mark[0], ""))) end++;
  const code = lines.slice(at + 1, end).join("\n");
  return [Math.min(end + 1, lines.length), () => codeBlock(code, language)];
}

function codeBlock(code, language) {
  const copy = make("button", { type: "button", className: "plain", "aria-label": "Copy this code" }, "Copy");
  offerCopy(copy, () => code);
  return make("div", { className: "fenced" }, make("p", {}, make("span", { className: "help" }, language), copy), make("pre", { tabIndex: 0 }, ...colored(code, LANGUAGES[language.toLowerCase()])));
}

function quoteAt(lines, at, depth) {
  let end = at;
  while (end < lines.length && lines[end].startsWith(">")) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(/^> ?/, "")).join("\n");
  return [end, () => make("blockquote", {}, ...markdownOf(inner, depth + 1))];
}

// listAt reads a list. What is indented below an item belongs to it.
function listAt(lines, at, depth) {
  const [, indent, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark), items = [], indented = new RegExp(`^\\s{0,${indent.length + mark.length + 1}}`);
  let end = at;
  for (; end < lines.length; end++) {
    const found = ITEM.exec(lines[end]);
    if (found && found[1].length <= indent.length) {
      if (/\d/.test(found[2]) !== ordered) break;
      items.push([found[3]]);
    } else if (!lines[end].trim()) {
      if (!/^\s+\S/.test(lines[end + 1] ?? "") && !ITEM.test(lines[end + 1] ?? "")) break;
      items.at(-1).push("");
    } else if (found || /^\s/.test(lines[end]) || (lines[end - 1].trim() && !startsBlock(lines[end]))) {
      items.at(-1).push(lines[end].replace(indented, ""));
    } else break;
  }
  const element = () => {
    const list = make(ordered ? "ol" : "ul", {}, ...items.map((item) => make("li", {}, ...itemParts(item, depth))));
    if (ordered && parseInt(mark) !== 1) list.start = parseInt(mark);
    return list;
  };
  return [end, element];
}

// itemParts are the parts of a list's item; a single line stands without a paragraph.
function itemParts(lines, depth) {
  const parts = markdownOf(lines.join("\n"), depth + 1);
  return parts.length && parts[0].tagName === "P" ? [...parts[0].childNodes, ...parts.slice(1)] : parts;
}

const cellsOf = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function tableAt(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end++;
  const row = (tag) => (line) => make("tr", {}, ...cellsOf(line).map((cell) => make(tag, tag === "th" ? { scope: "col" } : {}, ...inline(cell))));
  const table = () => make("table", {}, make("thead", {}, row("th")(lines[at])), make("tbody", {}, ...lines.slice(at + 2, end).map(row("td"))));
  return [end, () => make("div", { className: "scrolls", tabIndex: 0 }, table())];
}

const markdownOf = (text, depth) => markdownBlocks(text, depth).map(([, element]) => element());

// MARK begins an escape, code, a picture or link, strong, emphasis, struck out, or is an address.
const MARK = /[\\![*_~]|`+|(https?:\/\/[^\s<>()"]*[^\s<>()".,;:!?])/g;
const ESCAPED = "\\`*_{}[]()#+.!|~>-";
const STYLES = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

// inline returns a paragraph as texts and elements.
function inline(text, depth = 0) {
  const pieces = [], marked = depth < MAX_DEPTH ? text.slice(0, MAX_INLINE) : "", ends = endsOf(marked), marks = new RegExp(MARK);
  let shown = 0;
  for (let found; (found = marks.exec(marked)); ) {
    const { 0: mark, 1: address, index } = found;
    const [end, piece] = address ? [index + mark.length, linkTo(address, [address])] : (pieceAt(marked, index, mark, ends, depth + 1) ?? []);
    if (!end) continue;
    if (index > shown) pieces.push(text.slice(shown, index));
    pieces.push(piece);
    marks.lastIndex = shown = end;
  }
  if (shown < text.length) pieces.push(text.slice(shown));
  return pieces;
}

// endsOf returns a function that finds where a pattern matches next. The places from which a use of a pattern is looked for must
// ascend: then the text is searched once, and not once for each mark.
function endsOf(text) {
  const found = new Map();
  return (pattern, from, use = "") => {
    if (!(found.get(pattern + use) >= from)) {
      const search = new RegExp(pattern, "g");
      search.lastIndex = from;
      found.set(pattern + use, search.exec(text)?.index ?? Infinity);
    }
    return found.get(pattern + use);
  };
}

// pieceAt returns the end of the piece that begins with a mark, and its text or element. It returns undefined if the mark is text.
function pieceAt(text, at, mark, ends, depth) {
  if (mark === "\\") return text[at + 1] && ESCAPED.includes(text[at + 1]) ? [at + 2, text[at + 1]] : undefined;
  if (mark[0] === "`") return codeAt(text, at, mark.length, ends);
  if (mark === "!" || mark === "[") return linkAt(text, mark === "!" ? at + 1 : at, ends, depth);
  for (const [sign, tag] of STYLES) {
    if (!text.startsWith(sign, at) || (sign === "_" && /\w/.test(text[at - 1] ?? ""))) continue;
    const from = at + sign.length, end = ends(sign.replaceAll("*", "\\*"), from + sign.length - 1);
    if (end === Infinity || end === from || /\s/.test(text[from]) || (sign === "_" && /\w/.test(text[end + 1] ?? ""))) continue;
    return [end + sign.length, make(tag, {}, ...inline(text.slice(from, end), depth))];
  }
}

// runsOf returns the places of runs of backticks, by their lengths, the last ones first.
function runsOf(text) {
  const runs = [];
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) (runs[run.length] ??= []).push(index);
  return runs;
}

function codeAt(text, at, length, ends) {
  const from = at + length, runs = (ends.runs ??= runsOf(text))[length] ?? [];
  while (runs.at(-1) < from) runs.pop();
  if (!runs.length) return;
  const end = runs.at(-1), code = text.slice(from, end);
  return [end + length, make("code", {}, code.trim() || code)];
}

// linkAt reads [words](target "title").
function linkAt(text, at, ends, depth) {
  const close = text[at] === "[" ? ends("]", at + 1) : Infinity;
  if (text[close + 1] !== "(") return;
  const from = ends("\\S", close + 2, "target"), to = ends("[\\s)]", from);
  let end = ends("\\S", to);
  if (end > to && text[end] === '"') end = ends("\\S", ends('"', end + 1) + 1, "title");
  if (from === to || text[end] !== ")") return;
  const words = text.slice(at + 1, close), target = text.slice(from, to);
  const isAddress = /^https?:\/\//i.test(target);
  return [end + 1, isAddress ? linkTo(target, inline(words || target, depth)) : make("span", {}, ...inline(words, depth))];
}

const linkTo = (href, words) => make("a", { href, target: "_blank", rel: "noreferrer" }, ...words);

// showMarkdown shows a text. It keeps the elements of unchanged blocks: a stream makes only its last block again.
function showMarkdown(box, text) {
  const before = box.blocks ?? [];
  const blocks = markdownBlocks(text);
  let same = 0;
  while (same < blocks.length && before[same] === blocks[same][0]) same++;
  while (box.childNodes.length > same) box.lastChild.remove();
  box.append(...blocks.slice(same).map(([, element]) => element()));
  box.blocks = blocks.map(([source]) => source);
}
