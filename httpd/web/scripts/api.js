// Requests to the server. All of them go through request(), so what every request must carry has one place.

// serverURL is the address of a path. A proxy may have put a prefix before all paths, the page's own too.
const serverURL = (path) => new URL("." + path, location.href).href;

const request = (path, options) => fetchWithToken(serverURL(path), options);

// serverEvents yields the server-sent events of a response: {event, data}, with data parsed.
async function* serverEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = []; // of the event that has not ended
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pieces.push(value);
      if (!value.includes("\n")) continue; // a long event is joined once, and not for each of its pieces
      const blocks = pieces.join("").split("\n\n");
      pieces = [blocks.pop()];
      for (const block of blocks) {
        const fields = {};
        for (const line of block.split("\n")) {
          const colon = line.indexOf(": "); // a comment begins with the colon
          if (colon > 0) fields[line.slice(0, colon)] = (fields[line.slice(0, colon)] ?? "") + line.slice(colon + 2);
        }
        if (fields.event) yield { event: fields.event, data: parseExact(fields.data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the caller may stop before the end
  }
}

// parseExact reads JSON, and keeps the digits of integers that JavaScript's numbers do not hold, where the browser can.
function parseExact(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, context) => (typeof value === "number" && context?.source ? exactNumber(context.source) : value));
}

function exactNumber(text) {
  const number = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) && JSON.rawJSON ? JSON.rawJSON(text) : number;
}

const isExact = (value) => JSON.isRawJSON?.(value) === true;
