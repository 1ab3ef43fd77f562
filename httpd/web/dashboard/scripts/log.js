// The server's log: its last records since somebody watches it.

const log = { records: [], last: 0 };
const MAX_RECORDS = 200;

// addRecords takes in new records. The server may send some that are there already.
function addRecords({ last, records }) {
  const fresh = Math.min(records.length, last - log.last);
  if (fresh > 0) log.records = [...log.records, ...records.slice(-fresh)].slice(-MAX_RECORDS);
  log.last = last;
}

// showLog keeps the end in view, unless the reader has scrolled up.
function showLog() {
  if (!$("log-box").open) return;
  const box = $("log");
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 8;
  const text = log.records.join("\n") || "Nothing has been logged since this page was opened.";
  if (box.textContent === text) return;
  box.textContent = text;
  if (atEnd) box.scrollTop = box.scrollHeight;
}
