// Files as inputs: a URL, or files that are dropped, pasted or chosen, which are sent as data URLs.

// LocalFile is a file of the user's machine. The page knows its name, not its folder.
class LocalFile {
  constructor(name, type, size, data) {
    this.name = name;
    this.type = type;
    this.size = size;
    this.data = data; // a data URL
  }
  toJSON() {
    return this.data;
  }
}

// ofDataURL returns a file of one of the model's examples. The data URL has no name, and the file is not on the user's machine.
function ofDataURL(url, name) {
  const type = mediaType(url);
  const file = new LocalFile(`${name}.${extensionOf(type)}`, type, dataOf(url).length, url);
  file.isGiven = true;
  return file;
}

async function readLocal(file) {
  const data = await new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(new Error(`${file.name} cannot be read: ${reader.error.message}`));
    reader.readAsDataURL(file);
  });
  return new LocalFile(file.name, file.type || "application/octet-stream", file.size, data);
}

function fileControl(id, name, schema, many) {
  const url = make("input", { id, type: "text", placeholder: many ? "URLs, or drop or paste files" : "URL, or drop or paste a file" });
  if (typeof schema.default === "string") url.value = schema.default;
  const pick = make("input", { type: "file", multiple: many, "aria-label": `${name}: choose a file` });
  if (schema["x-cog-accept"]) pick.accept = schema["x-cog-accept"];
  const remove = make("button", { type: "button", className: "plain" });
  const shown = make("div", { className: "chosen" });
  const take = async (list) => {
    if (!list.length) return;
    url.value = "";
    try {
      show(await Promise.all([...list].slice(0, many ? undefined : 1).map(readLocal)));
    } catch (error) {
      show([]); // a folder, or a file that is gone
      shown.append(make("p", { className: "error", role: "alert" }, error.message));
    }
    element.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const element = make("div", { className: "drop" }, url, make("p", { className: "sources" }, pick, ...captureButtons(name, schema, take)), shown);
  let files = [];
  const show = (list) => {
    files = list;
    shown.replaceChildren(...files.map(preview), ...(files.length ? [remove] : []));
    remove.textContent = files.length > 1 ? "Remove all" : "Remove";
    remove.setAttribute("aria-label", `${name}: ${remove.textContent.toLowerCase()}`);
  };
  remove.addEventListener("click", () => {
    pick.value = "";
    show([]);
    element.dispatchEvent(new Event("input", { bubbles: true }));
    url.focus();
  });
  pick.addEventListener("change", (e) => {
    e.stopPropagation();
    take(pick.files);
  });
  url.addEventListener("input", () => show([]));
  url.addEventListener("paste", (e) => {
    if (!e.clipboardData.files.length) return;
    e.preventDefault();
    take(e.clipboardData.files);
  });
  element.addEventListener("dragover", (e) => {
    e.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (e) => {
    e.preventDefault();
    element.classList.remove("over");
    take(e.dataTransfer.files);
  });
  const values = () => (files.length ? files : url.value.trim() ? url.value.trim().split(/\s+/) : []);
  return {
    element,
    get: () => (many ? (values().length ? values() : undefined) : values()[0]),
    set: (value) => {
      const given = (Array.isArray(value) ? value : [value]).filter(Boolean);
      const all = given.map((v, i) => (typeof v === "string" && isDataURL(v) ? ofDataURL(v, many ? `${name}-${i + 1}` : name) : v));
      show(all.filter((v) => v instanceof LocalFile));
      url.value = all.filter((v) => typeof v === "string").join(" ");
    },
  };
}

function preview(file) {
  const name = make("p", { className: "help" }, `${file.name}, ${sizeText(file.size)}`);
  if (file.isGiven) name.append(" ", make("a", { href: file.data, download: file.name }, "Save")); // for the code, which reads it
  if (file.type.startsWith("audio/")) return make("div", {}, make("audio", { controls: true, src: file.data, "aria-label": file.name }), name);
  if (!file.type.startsWith("image/")) return make("div", {}, name);
  return make("div", {}, make("img", { src: file.data, alt: file.name }), name);
}

function sizeText(bytes) {
  if (bytes < 1000) return plural(bytes, "byte");
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
