// Numbers and times in words.

const NONE = "–";

// groups separates the thousands of a whole number.
const groups = (number) => String(number).replace(/\B(?=(\d{3}){1,7}$)/g, "\u202f");

// timeText formats seconds in a suitable unit, with three digits.
function timeText(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1e-6) return "0 ms";
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 120) return `${digits(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(seconds / 86400)} days`;
}

function digits(number) {
  if (number >= 99.5) return String(Math.round(number));
  return String(Number(number.toFixed(number >= 9.95 ? 1 : 2)));
}

const plural = (number, word) => `${groups(number)} ${word}${number === 1 ? "" : "s"}`;
