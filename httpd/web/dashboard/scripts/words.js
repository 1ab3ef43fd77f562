// Numbers, times and states in words.

function rateText(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (perSecond === 0) return "0";
  if (perSecond < 0.095) return perSecond.toFixed(2);
  return perSecond < 9.95 ? perSecond.toFixed(1) : groups(Math.round(perSecond));
}

function bytesText(bytes) {
  if (!bytes) return NONE;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (bytes < 1000) return `${digits(bytes)} ${unit}`;
    bytes /= 1024;
  }
  return `${digits(bytes)} TiB`;
}

const shareText = (part) => (part > 0 && part < 0.001 ? "< 0.1 %" : `${digits(part * 100)} %`);

// agoText says how long ago a moment was, with both times in milliseconds.
function agoText(then, now) {
  const seconds = Math.max(0, (now - then) / 1000);
  return seconds < 1 ? "now" : `${timeText(Math.floor(seconds))} ago`;
}

const clockText = (milliseconds) => new Date(milliseconds).toLocaleTimeString([], { hour12: false });

const REASONS = {
  model: "the model raised an exception", validation: "the input was wrong", files: "files could not be transferred",
  crash: "the worker died", timeout: "a time limit", memory: "no room in the memory budget", capacity: "no slot or place in the queue was free",
  unavailable: "no worker was ready",
};

// PARTS are the parts of a prediction's time, in their order.
const PARTS = [["queue", "Queue", "amber"], ["files", "Files", "teal"], ["predict", "Model", "blue"], ["overhead", "Server", "grey"]];
