// Files in the output, as data URLs or addresses: pictures, players, texts, downloads. Nothing of them is run: a
// picture is shown by <img>, all else is data.

const IMAGES = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "bmp"];
const SOUNDS = ["mp3", "wav", "ogg", "flac", "m4a", "opus"];
const FILMS = ["mp4", "webm", "mov", "mkv"];
const MAX_TEXT = 100_000; // characters of a text file that are shown
const EXTENSIONS = {
  "application/json": "json", "application/octet-stream": "bin", "application/pdf": "pdf", "application/zip": "zip",
  "application/gzip": "gz", "application/xml": "xml", "audio/mpeg": "mp3", "audio/x-wav": "wav", "audio/vnd.wave": "wav",
  "audio/mp4": "m4a", "image/jpeg": "jpg", "image/svg+xml": "svg", "image/vnd.microsoft.icon": "ico", "text/plain": "txt",
  "text/markdown": "md", "text/javascript": "js", "video/quicktime": "mov", "video/x-matroska": "mkv",
}; // of types whose extension is not what follows the slash

const isDataURL = (text) => /^data:[^,]{0,200},/.test(text);
const isAddress = (text) => /^https?:\/\/\S+$/.test(text);
const isFileText = (text) => isDataURL(text) || (isAddress(text) && mediaKind(text) !== "");
const mediaType = (url) => url.slice(5, url.search(/[;,]/)).toLowerCase() || "text/plain";

// mediaKind is image, audio, video, or "" for a file or text of another kind.
function mediaKind(text) {
  const kind = /^data:(image|audio|video)\//i.exec(text)?.[1].toLowerCase();
  if (kind || !isAddress(text)) return kind ?? "";
  const ending = text.split(/[?#]/)[0].split(".").pop().toLowerCase();
  if (IMAGES.includes(ending)) return "image";
  if (SOUNDS.includes(ending)) return "audio";
  return FILMS.includes(ending) ? "video" : "";
}

let objectURLs = []; // of the shown files
let shownFiles = []; // those from data URLs: {name, bytes}

function releaseMedia() {
  objectURLs.forEach((url) => URL.revokeObjectURL(url));
  objectURLs = [];
  shownFiles = [];
}

// addressOf is a short URL for a file. A picture that may hold a script keeps its own: opened by itself it then has no
// origin, and cannot reach this server.
function addressOf(url, bytes, type) {
  if (!bytes || type === "image/svg+xml") return url;
  const made = URL.createObjectURL(new Blob([bytes], { type }));
  objectURLs.push(made);
  return made;
}

function fileView(url, name) {
  const kind = mediaKind(url);
  const bytes = isDataURL(url) ? dataOf(url) : null;
  const type = bytes ? mediaType(url) : "";
  const fileName = bytes ? `${name.replaceAll(/[\\/]/g, "_")}.${extensionOf(type)}` : nameInAddress(url); // a key of the output may have slashes
  if (bytes) shownFiles.push({ name: fileName, bytes });
  const figure = make("figure", { className: "file" });
  if (kind) figure.append(mediaView(kind, addressOf(url, bytes, type), fileName));
  else if (isTextual(type)) figure.append(textFile(bytes, url));
  // With this type a tab downloads the file, and runs no HTML in it.
  const link = make("a", { href: addressOf(url, bytes, "application/octet-stream"), download: fileName }, `Download ${fileName}`);
  if (!bytes) Object.assign(link, { target: "_blank", rel: "noreferrer" });
  figure.append(make("figcaption", {}, link, bytes ? ` ${type}, ${sizeText(bytes.length)}` : ""));
  return figure;
}

// nameInAddress is the last part of an address's path, decoded if that is possible.
function nameInAddress(url) {
  const part = url.split(/[?#]/)[0].split("/").pop();
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// mediaView is a picture or a player, or a note if the browser cannot show the file.
function mediaView(kind, src, fileName) {
  const view = kind === "image" ? make("img", { alt: `Image ${fileName}` }) : make(kind, { controls: true, preload: "metadata", "aria-label": fileName });
  const whole = kind === "image" ? enlargeable(view, fileName) : view;
  view.addEventListener("error", () => whole.replaceWith(make("p", { className: "help" }, `This browser cannot show ${fileName}: it is damaged or of an unknown format.`)));
  view.src = src;
  return whole;
}

// dataOf is the content of a data URL, or its text if that cannot be decoded.
function dataOf(url) {
  const comma = url.indexOf(",");
  const content = url.slice(comma + 1);
  try {
    if (/;base64$/i.test(url.slice(0, comma))) return Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
    return new TextEncoder().encode(decodeURIComponent(content));
  } catch {
    return new TextEncoder().encode(content);
  }
}

const isTextual = (type) => /^text\/|[/+](json|xml|yaml|csv|toml|javascript|x-ndjson|x-yaml)$/.test(type);

function textFile(bytes, url) {
  const charset = /;charset=([^;,]+)/i.exec(url.slice(0, 200))?.[1] ?? "utf-8";
  let text;
  try {
    text = new TextDecoder(charset).decode(bytes);
  } catch {
    text = new TextDecoder().decode(bytes); // an unknown charset
  }
  return make("pre", { className: "text", tabIndex: 0 }, text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) + "\n…" : text);
}

const extensionOf = (type) => EXTENSIONS[type] ?? (/^[a-z0-9]+\/(?:x-)?([a-z0-9]{1,8})$/.exec(type)?.[1] || "bin");
