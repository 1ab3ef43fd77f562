// Counts the steps that the pages' scripts take for texts of others: of each regular expression of them, and of the functions that
// read what a model, a client or a README wrote. A text may take so many steps for each character, and no more: then the time
// grows with the text's length alone.
//
//     node steps.js FOLDER      FOLDER is httpd/web; prints what takes more, one a line

const fs = require("fs"), path = require("path"), vm = require("vm");

// ---- A matcher that backtracks as browsers' do, and counts. It throws when it has taken more steps than are allowed.

let steps = 0, allowed = Infinity;

function count(n = 1) {
  if ((steps += n) > allowed) throw new RangeError("too many steps");
}

// compiled returns a pattern as a program of [operation, ...operands]. Quantifiers with bounds are unrolled.
function compiled(source, flags) {
  const program = [];
  let at = 0, groups = 0;
  const peek = () => source[at], emit = (...op) => program.push(op) - 1;
  const setOf = (text) => {
    const one = new RegExp(`^(?:${text})$`, flags.replace(/[gy]/g, "")), known = new Map();
    return (char) => known.get(char) ?? (known.set(char, one.test(char)), known.get(char));
  };
  function alternatives() {
    const ends = [];
    for (;;) {
      const split = emit("split", 0, 0);
      program[split][1] = program.length;
      while (at < source.length && peek() !== "|" && peek() !== ")") term();
      if (peek() !== "|") {
        program[split] = ["jump", split + 1];
        break;
      }
      at++;
      ends.push(emit("jump", 0));
      program[split][2] = program.length;
    }
    for (const end of ends) program[end][1] = program.length;
  }
  function inGroup(before, after) {
    before();
    alternatives();
    at++; // the parenthesis
    after();
  }
  function look(length, sign, isBehind) {
    at += length;
    const op = emit("look", 0, sign, isBehind);
    inGroup(() => {}, () => emit("match"));
    program[op][1] = program.length;
  }
  function atom() {
    const rest = source.slice(at);
    if (rest.startsWith("(?=")) return look(3, true, false);
    if (rest.startsWith("(?!")) return look(3, false, false);
    if (rest.startsWith("(?<=")) return look(4, true, true);
    if (rest.startsWith("(?<!")) return look(4, false, true);
    if (rest.startsWith("(?:")) return (at += 3), inGroup(() => {}, () => {});
    if (rest[0] === "(") {
      const group = ++groups;
      at++;
      return inGroup(() => emit("save", 2 * group), () => emit("save", 2 * group + 1));
    }
    const text = /^(?:\[(?:\\.|[^\]\\])*\]|\\x..|\\u....|\\.|[^])/.exec(rest)[0];
    at += text.length;
    if (text === "^" || text === "$" || text === "\\b" || text === "\\B") emit("edge", text);
    else if (/^\\[1-9]$/.test(text)) emit("back", Number(text[1]));
    else emit("char", setOf(text));
  }
  function term() {
    const from = program.length, began = at, known = groups;
    atom();
    const ended = at, quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})(\??)/.exec(source.slice(at));
    if (!quantifier) return;
    const [all, low, comma, high, lazy] = quantifier;
    const [least, most] = { "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] }[all[0]] ?? [Number(low), comma ? Number(high || Infinity) : Number(low)];
    program.length = from;
    const again = () => ((at = began), (groups = known), atom());
    const fork = () => emit("split", 0, 0), choose = (split, enter, leave) => (program[split] = lazy ? ["split", leave, enter] : ["split", enter, leave]);
    for (let i = 0; i < least; i++) again();
    if (most === Infinity) {
      const split = fork();
      again();
      emit("jump", split);
      choose(split, split + 1, program.length);
    } else {
      const splits = [];
      for (let i = least; i < most; i++) splits.push(fork()), again();
      for (const split of splits) choose(split, split + 1, program.length);
    }
    at = ended + all.length;
  }
  alternatives();
  emit("match");
  return program;
}

const isWord = (char) => char !== undefined && /\w/.test(char);

function edge(kind, text, at, multiline) {
  if (kind === "^") return at === 0 || (multiline && text[at - 1] === "\n");
  if (kind === "$") return at === text.length || (multiline && text[at] === "\n");
  return (isWord(text[at - 1]) !== isWord(text[at])) === (kind === "\\b");
}

// matches reports whether a program matches at a place.
function matches(program, from, text, at, flags, saved = []) {
  const undo = [];
  let pc = from;
  for (;;) {
    count();
    const [op, a, b, behind] = program[pc];
    let fails = false;
    if (op === "match") return true;
    if (op === "char") fails = at >= text.length || !a(text[at]), at++, pc++;
    else if (op === "jump") pc = a;
    else if (op === "split") undo.push([b, at, saved]), (pc = a);
    else if (op === "save") (saved = saved.slice()), (saved[a] = at), pc++;
    else if (op === "edge") (fails = !edge(a, text, at, flags.includes("m"))), pc++;
    else if (op === "back") {
      const word = saved[2 * a + 1] === undefined ? "" : text.slice(saved[2 * a], saved[2 * a + 1]);
      count(word.length);
      (fails = !text.startsWith(word, at)), (at += word.length), pc++;
    } else {
      // Those that look behind are of one character.
      const found = behind ? at > 0 && matches(program, pc + 1, text.slice(0, at), at - 1, flags, saved) : matches(program, pc + 1, text, at, flags, saved);
      (fails = found !== b), (pc = a);
    }
    if (!fails) continue;
    if (!undo.length) return false;
    [pc, at, saved] = undo.pop();
  }
}

const programs = new Map();

function countMatch(pattern, text) {
  const { source, flags } = pattern, key = `${flags} ${source}`;
  if (!programs.has(key)) programs.set(key, compiled(source, flags));
  const from = /[gy]/.test(flags) ? pattern.lastIndex : 0;
  const isFixed = flags.includes("y") || (source[0] === "^" && !flags.includes("m") && !source.includes("|^"));
  for (let at = from; at <= text.length; at++) {
    if (matches(programs.get(key), 0, text, at, flags) || (isFixed && (flags.includes("y") || at === from))) return;
  }
}

// ---- The scripts, in a context whose regular expressions and long operations on texts are counted.

function folderOf(folder) {
  return fs.readdirSync(folder).filter((name) => name.endsWith(".js") && name !== "start.js").map((name) => fs.readFileSync(path.join(folder, name), "utf8"));
}

function loaded(sources) {
  class Node {
    constructor(tag) {
      Object.assign(this, { tag, tagName: tag.toUpperCase(), childNodes: [], dataset: {}, style: {}, classList: { add() {}, toggle() {} } });
    }
    append(...nodes) {
      this.childNodes.push(...nodes);
    }
    replaceChildren(...nodes) {
      this.childNodes = nodes;
    }
    setAttribute() {}
    addEventListener() {}
    querySelector() {
      return null;
    }
    get children() {
      return this.childNodes.filter((node) => node instanceof Node);
    }
  }
  const document = { createElement: (tag) => (count(), new Node(tag)), createElementNS: (space, tag) => new Node(tag), getElementById: () => new Node("div"), querySelector: () => null, querySelectorAll: () => [], documentElement: new Node("html"), addEventListener() {} };
  const context = vm.createContext({ document, count, countMatch, TextDecoderStream, TextEncoder, TextDecoder, URL, Blob, atob, btoa, location: { hash: "", pathname: "/docs", href: "http://x/docs" } });
  const uses = `
    for (const [name, cost] of [["split", (t) => t.length], ["replaceAll", (t) => t.length], ["slice", (t, r) => r.length], ["trim", (t, r) => t.length - r.length], ["trimEnd", (t, r) => t.length - r.length],
      ["indexOf", (t, r) => (r < 0 ? t.length : r)], ["includes", (t, r) => (r ? 0 : t.length)], ["lastIndexOf", (t, r) => t.length - Math.max(r, 0)], ["toLowerCase", (t) => t.length]]) {
      const own = String.prototype[name];
      String.prototype[name] = function (...args) { const r = own.apply(this, args); count(1 + cost(this, r)); return r; };
    }
    for (const name of ["join", "slice", "concat"]) {
      const own = Array.prototype[name];
      Array.prototype[name] = function (...args) { const r = own.apply(this, args); count(1 + r.length); return r; };
    }
    const exec = RegExp.prototype.exec;
    RegExp.prototype.exec = function (text) { countMatch(this, String(text)); return exec.call(this, text); };`;
  vm.runInContext(sources.join("\n").replace(/^showTheme\(themeOf\(\)\);$|^\$\("theme"\)\.addEvent.*$/gm, ""), context);
  vm.runInContext(uses, context);
  return (expression) => vm.runInContext(expression, context);
}

// patternsOf returns the regular expressions that a script has as literals.
function patternsOf(source) {
  const found = [];
  const token = /\/\/.*|"(?:[^"\\\n]|\\.)*"|(?<=[(=,:[!&|?{;>]\s*|return )\/((?:\[(?:[^\]\\\n]|\\.)*\]|\\.|[^/\\[\n])+)\/([a-z]*)/g;
  for (const [, pattern, flags] of source.matchAll(token)) if (pattern) found.push(new RegExp(pattern, flags));
  return found;
}

// ---- Texts

let seed = 1;
const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;

// textsFor makes texts of a length, from some words: a beginning, a part that is repeated, and an end.
function* textsFor(words, length, times) {
  const some = (most) => Array.from({ length: random(most + 1) }, () => words[random(words.length)]).join("");
  for (let i = 0; i < times; i++) {
    const part = words[random(words.length)] + some(2);
    yield some(3) + part.repeat(length / part.length) + some(2);
  }
}

const problems = new Map();

function check(name, text, most, run) {
  (steps = 0), (allowed = most * text.length);
  try {
    run(text);
  } catch (error) {
    if (!/too many steps/.test(error.message)) throw error;
    if (!problems.has(name)) problems.set(name, `${name}: more than ${most} steps for each of ${text.length} characters, which begin with ${JSON.stringify(text.slice(0, 60))}`);
  } finally {
    allowed = Infinity;
  }
}

const MARKS = ["*", "**", "_", "__", "~~", "`", "``", "```", "[", "]", "(", ")", "](", "![", "\\", "a", "b c", " ", "  ", "\n", "\t", "\r", "\u2028", "http://", "http://x.y", "#", "# ", "- ", "1. ", "|", "|-", "-", "> ", '"', "'", "<", ">", ".", "=", ' a="', " b=c", "\x1b[", "\x1b]", "0", "data:", ",", ";"];
const LENGTH = 8000, EACH = 150, OF_PATTERN = 60;

async function main(web) {
  const shared = folderOf(path.join(web, "scripts"));
  const page = [...shared, ...folderOf(path.join(web, "page/scripts"))], live = [...shared, ...folderOf(path.join(web, "dashboard/scripts"))];
  let patterns = 0;
  for (const pattern of [...page, ...live, ...folderOf(path.join(web, "dashboard/fleet/scripts"))].flatMap(patternsOf)) {
    patterns++;
    const words = [...new Set([...(pattern.source.match(/\w{4,}|[^\\\w\s]|\w/g) ?? []), " ", "a", "0", "\n", "\u2028", "\x1b"])];
    for (const text of textsFor(words, 1000, 30)) check(String(pattern), text, OF_PATTERN, (t) => ((pattern.lastIndex = 0), countMatch(pattern, t)));
  }
  const onPage = loaded(page), inView = loaded(live);
  const functions = {
    markdownBlocks: onPage("(text) => markdownBlocks(text).forEach(([, element]) => element())"),
    written: onPage("written"), lastLineOf: onPage("(text) => doneOf(lastLineOf(text))"), tracebackOf: onPage("tracebackOf"),
    isFileText: onPage("(text) => isFileText(text) && mediaKind(text)"), "colored, curl": onPage('(text) => colored(text, "curl")'), "colored, python": onPage('(text) => colored(text, "python")'),
    readRecord: inView("readRecord"), fieldText: inView("fieldText"), exceptionOf: inView("exceptionOf"),
  };
  for (const [name, run] of Object.entries(functions)) {
    for (const text of textsFor(MARKS, LENGTH, 20)) check(name, name === "readRecord" ? "12:00:00.1 INF " + text : text, EACH, run);
  }
  const shapes = {
    "a heading of spaces": "# a" + " ".repeat(LENGTH) + "b", "a rule of a table": "a|b\n|-" + " ".repeat(LENGTH) + "x", "runs of backticks": Array.from({ length: 170 }, (_, i) => "`".repeat(i)).join(" "),
    "an item with a line separator": "- " + " ".repeat(LENGTH) + "\u2028a", "titles of links": '[a](b "'.repeat(LENGTH / 7), brackets: "[".repeat(LENGTH / 2) + "](" + "a".repeat(LENGTH / 2),
  };
  for (const [name, text] of Object.entries(shapes)) check(`markdownBlocks of ${name}`, text, EACH, functions.markdownBlocks);
  check("written of a long line after a bar", "a\r" + "b".repeat(LENGTH) + "\n", EACH, functions.written);
  check("tableView of records without a common key", "x".repeat(2000), EACH, () => onPage('tableView(Array.from({ length: 2000 }, (_, i) => ({ [i]: 1 })), "output")'));
  const events = onPage(`async (text) => {
    const pieces = Array.from({ length: Math.ceil(text.length / 16) }, (_, i) => text.substr(16 * i, 16));
    const reader = { read: async () => (pieces.length ? { value: pieces.shift() } : { done: true }), cancel: async () => {} };
    let n = 0;
    for await (const event of serverEvents({ body: { pipeThrough: () => ({ getReader: () => reader }) } })) n++;
    return n;
  }`);
  const event = 'event: output\ndata: {"chunk": "' + "a".repeat(LENGTH) + '"}\n\n';
  (steps = 0), (allowed = EACH * event.length);
  const read = await events(event).catch((error) => error.message);
  if (read !== 1) problems.set("serverEvents", `serverEvents of an event in pieces: ${read}`);
  console.log([...problems.values()].join("\n"));
  console.error(`${patterns} patterns, ${Object.keys(functions).length} functions`);
}

main(process.argv[2]).catch((error) => (console.log(error.stack), process.exit(1)));
