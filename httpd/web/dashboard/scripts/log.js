// The server's log: its last records since a client watches it, as rows that a level and a text filter.

const log = { records: [], last: 0, shown: null }; // a record is {text, row}
const MAX_RECORDS = 200;

// LEVELS are the log's levels, by the first letter of their names in JSON and in lines.
const LEVELS = { D: ["debug", ""], I: ["info", "blue"], W: ["warning", "busy"], E: ["error", "bad"] };

// addRecords adds new records. The server may send some twice.
function addRecords({ last, records }) {
  const fresh = Math.min(records.length, last - log.last);
  if (fresh > 0) log.records = [...log.records, ...records.slice(-fresh).map((text) => ({ text, row: null }))].slice(-MAX_RECORDS);
  log.last = last;
}

// readRecord takes a record apart: {time, level, message, fields}, with a letter as level; "" if it has none.
function readRecord(text) {
  try {
    const { time = "", level = "", msg, ...fields } = parseExact(text);
    if (typeof msg === "string") return { time: clockText(Date.parse(time)), level: String(level)[0], message: msg, fields: Object.entries(fields) };
  } catch {
    // a line for people, as below
  }
  const [first, ...rest] = text.split("\n");
  const line = /^(\d\d:\d\d:\d\d)\S* ([DIWE])\S* (.*)$/s.exec(first);
  if (!line) return { time: "", level: "", message: text, fields: [] };
  const fields = []; // with names and values, at the end of the line
  let end = line[3].length;
  for (const { 0: field, 1: name, 2: value, index } of [...line[3].matchAll(/ ([\w.]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?= |$)/g)].reverse()) {
    if (index + field.length !== end) break;
    fields.push([name, value]);
    end = index;
  }
  return { time: line[1], level: line[2], message: [line[3].slice(0, end), ...rest].join("\n"), fields: fields.reverse() };
}

// fieldText is a field's value in one word, in quotes where it has several.
function fieldText(value) {
  if (typeof value === "string" && /^("[^]*"|[^\s="]+)$/.test(value)) return value;
  return JSON.stringify(value);
}

function recordRow({ time, level, message, fields }) {
  const [name, look] = LEVELS[level] ?? ["", ""];
  const parts = [make("span", { className: "when" }, time), make("span", { className: name ? `chip ${look}` : "" }, name)];
  const words = make("span", { className: "said" }, message);
  for (const [key, value] of fields) words.append(" ", make("span", { className: "field" }, make("span", { className: "help" }, `${key}=`), fieldText(value)));
  const row = make("li", {}, ...parts, words);
  row.level = "DIWE".indexOf(level || "E"); // one without a level may be all that is left of a crash
  return row;
}

// showLog keeps the end in view, unless the reader has scrolled up. Rows that stay keep what is selected in them.
function showLog() {
  const least = Number($("log-level").value), text = $("log-text").value.trim().toLowerCase();
  const filter = `${least} ${text}`;
  if (!$("log-box").open || (log.shown === log.records && log.filter === filter)) return;
  Object.assign(log, { shown: log.records, filter });
  const box = $("log");
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 8;
  for (const record of log.records) record.row ??= recordRow(readRecord(record.text));
  const rows = log.records.map((record) => record.row), stay = new Set(rows);
  for (const row of [...box.children]) if (!stay.has(row)) row.remove();
  box.append(...rows.filter((row) => !row.isConnected));
  for (const row of rows) row.hidden = row.level < least || !row.textContent.toLowerCase().includes(text);
  const count = rows.filter((row) => !row.hidden).length;
  box.hidden = !count;
  set($("log-count"), rows.length ? `${groups(count)} of ${plural(rows.length, "record")}` : "Nothing has been logged since this page was opened.");
  if (atEnd) box.scrollTop = box.scrollHeight;
}
