// Markdown as elements: headings, lists, quotes, tables, code, links. HTML in it is shown as text, and
// pictures are links, because the text is not trusted.

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

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
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
  if (heading) return [at + 1, () => make("h" + Math.min(6, heading[1].length + 2), {}, ...inline(heading[2]))];
  if (RULE.test(line)) return [at + 1, () => make("hr")];
  if (line.startsWith(">") && depth < MAX_DEPTH) return quoteAt(lines, at, depth);
  if (ITEM.test(line) && depth < MAX_DEPTH) return listAt(lines, at, depth);
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) return tableAt(lines, at);
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end])) end++;
  return [end, () => make("p", {}, ...inline(lines.slice(at, end).join("\n")))];
}

const startsBlock = (line) => FENCE.test(line) || /^ {0,3}#{1,6}\s/.test(line) || RULE.test(line) || line.startsWith(">") || ITEM.test(line);

function fenceAt(lines, at, [, mark, language]) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().replaceAll(mark[0], ""))) end++;
  const code = lines.slice(at + 1, end).join("\n");
  return [Math.min(end + 1, lines.length), () => codeBlock(code, language)];
}

function codeBlock(code, language) {
  const copy = make("button", { type: "button", className: "plain", "aria-label": "Copy this code" }, "Copy");
  offerCopy(copy, () => code);
  return make("div", { className: "fenced" }, make("p", {}, make("span", { className: "help" }, language), copy), make("pre", { tabIndex: 0 }, code));
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
  const ordered = /\d/.test(mark), items = [];
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
      items.at(-1).push(lines[end].replace(new RegExp(`^\\s{0,${indent.length + mark.length + 1}}`), ""));
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

function tableAt(lines, at) {
  const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end++;
  const row = (tag) => (line) => make("tr", {}, ...cells(line).map((cell) => make(tag, tag === "th" ? { scope: "col" } : {}, ...inline(cell))));
  const table = () => make("table", {}, make("thead", {}, row("th")(lines[at])), make("tbody", {}, ...lines.slice(at + 2, end).map(row("td"))));
  return [end, () => make("div", { className: "scrolls", tabIndex: 0 }, table())];
}

const markdownOf = (text, depth) => markdownBlocks(text, depth).map(([, element]) => element());

// INLINE are, in this order: an escape, code, a picture or link, an address, strong, emphasis, struck out.
const INLINE = new RegExp(
  [
    /\\([\\`*_{}[\]()#+.!|~>-])/, /(`+)(.{1,2000}?)\2(?!`)/, /!?\[([^\]]{0,500})\]\(\s*([^\s)]+)(?:\s+"[^"]*")?\s*\)/, /(https?:\/\/[^\s<>()"]*[^\s<>()".,;:!?])/,
    /\*\*(?=\S)(.+?\S??)\*\*|__(?=\S)(.+?\S??)__/, /\*(?=\S)([^*]+?)\*|(?<!\w)_(?=\S)([^_]+?)_(?!\w)/, /~~(?=\S)(.+?)~~/,
  ].map((part) => part.source).join("|"),
  "s",
);

// inline returns a paragraph as texts and elements.
function inline(text, depth = 0) {
  const pieces = [], after = text.slice(MAX_INLINE);
  text = text.slice(0, MAX_INLINE);
  while (text) {
    const found = depth < MAX_DEPTH ? INLINE.exec(text) : null;
    if (!found) break;
    if (found.index) pieces.push(text.slice(0, found.index));
    pieces.push(inlinePiece(found, depth));
    text = text.slice(found.index + found[0].length);
  }
  if (text + after) pieces.push(text + after);
  return pieces;
}

function inlinePiece([all, escaped, , code, words, target, address, strong, strong2, soft, soft2, struck], depth) {
  if (escaped) return escaped;
  if (code) return make("code", {}, code.trim() || code);
  if (target) return /^https?:\/\//i.test(target) ? linkTo(target, inline(words || target, depth + 1)) : make("span", {}, ...inline(words, depth + 1));
  if (address) return linkTo(address, [address]);
  if (strong ?? strong2) return make("strong", {}, ...inline(strong ?? strong2, depth + 1));
  if (soft ?? soft2) return make("em", {}, ...inline(soft ?? soft2, depth + 1));
  return struck ? make("del", {}, ...inline(struck, depth + 1)) : all;
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
