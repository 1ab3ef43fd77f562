"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  // make(tag, properties, ...children): text is always set as text, never as HTML.
  const make = (tag, properties = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(properties)) k.includes("-") || k === "for" ? e.setAttribute(k, v) : (e[k] = v);
    e.append(...children);
    return e;
  };

  let schemas = {}, document_ = {}, fields = [], current = null, language = "curl", serial = 0;

  // ---- the schema ----

  // resolve follows $ref and the allOf that stands around an enum's.
  const resolve = (s) => {
    if (s.$ref) return { ...resolve(schemas[s.$ref.split("/").pop()] || {}), ...s, $ref: undefined };
    if (s.allOf) return { ...s.allOf.map(resolve).reduce((a, b) => ({ ...a, ...b }), {}), ...s, allOf: undefined };
    return s;
  };
  const isFile = (s) => s.type === "string" && s.format === "uri";
  const trains = () => document.querySelector("[name=kind]:checked").value === "trainings";
  const operation = () => document_.paths?.[trains() ? "/trainings" : "/predictions"]?.post || {};
  const output = () => resolve(schemas[trains() ? "TrainingOutput" : "Output"] || {});

  async function load() {
    const response = await fetch("/openapi.json");
    if (!response.ok) throw new Error("The model is not set up yet.");
    document_ = await response.json();
    schemas = document_.components?.schemas || {};
    const name = document_.info?.title || "Playground";
    $("title").textContent = document.title = name === "Cog" ? "Playground" : name;
    $("about").textContent = document_.info?.description || "";
    $("kind").hidden = !schemas.TrainingInput;
    build();
  }

  function build() {
    const schema = resolve(schemas[trains() ? "TrainingInput" : "Input"] || {});
    const required = new Set(schema.required || []);
    fields = Object.entries(schema.properties || {})
      .map(([name, s]) => field(name, resolve(s), required.has(name)))
      .sort((a, b) => (a.schema["x-order"] ?? 0) - (b.schema["x-order"] ?? 0));
    $("fields").replaceChildren(...fields.filter((f) => !f.folded).map((f) => f.element));
    $("more").replaceChildren(...fields.filter((f) => f.folded).map((f) => f.element));
    $("optional").hidden = !fields.some((f) => f.folded);
    if (!fields.length) $("fields").replaceChildren(make("p", { className: "help" }, "This model has no inputs."));
    showCode();
  }

  // field makes one input: {name, schema, element, value(): the value, or undefined to leave it away}.
  function field(name, s, required) {
    const id = "in-" + name;
    const f = { name, schema: s, folded: !required && (s.nullable || s.deprecated) && s.default == null };
    const title = make("label", { for: id }, s.title || name);
    if (required) title.append(make("span", { className: "unit" }, " (required)"));
    if (s.deprecated) title.append(make("span", { className: "unit" }, " (deprecated)"));
    const [control, value] = input(id, s, required);
    f.value = value;
    f.error = make("p", { className: "error", id: id + "-error" });
    f.element = make("div", { className: "field" }, title);
    if (s.description && s.description !== "An enumeration.") f.element.append(make("p", { className: "help", id: id + "-help" }, s.description));
    const main = control.id === id ? control : control.querySelector("#" + CSS.escape(id));
    main?.setAttribute("aria-describedby", id + "-help " + id + "-error");
    f.element.append(control, f.error);
    f.element.addEventListener("input", showCode);
    return f;
  }

  // input makes the control for a schema, and what reads its value.
  function input(id, s, required) {
    const given = s.default ?? undefined; // a default of null is none to show
    if (s.enum) {
      const list = make("select", { id });
      if (!required && given === undefined) list.append(make("option", { value: "" }, "—"));
      s.enum.forEach((v, i) => list.append(make("option", { value: String(i), selected: v === given }, String(v))));
      return [list, () => (list.value === "" ? undefined : s.enum[Number(list.value)])];
    }
    if (s.type === "boolean") {
      const box = make("input", { id, type: "checkbox", checked: given === true });
      let touched = given !== undefined || required;
      box.addEventListener("change", () => (touched = true));
      return [box, () => (touched ? box.checked : undefined)];
    }
    if (s.type === "integer" || s.type === "number") return number(id, s);
    if (isFile(s)) return file(id, s);
    if (s.type === "array" && isFile(resolve(s.items || {}))) return file(id, s, true);
    if (s.type === "string") {
      if (s.format === "password") {
        const secret = make("input", { id, type: "password", autocomplete: "off" });
        return [secret, () => secret.value || undefined];
      }
      const text = make("textarea", { id, rows: 1, value: given ?? "" });
      let touched = given !== undefined;
      text.addEventListener("input", () => (touched = true));
      return [text, () => (touched || required ? (text.value === "" && s.nullable ? undefined : text.value) : undefined)];
    }
    const json = make("textarea", { id, rows: 2, spellcheck: false, value: given === undefined ? "" : JSON.stringify(given) });
    json.placeholder = s.type === "array" ? '["a", "b"]' : s.type === "object" ? '{"key": "value"}' : "JSON";
    return [json, () => (json.value.trim() === "" ? undefined : parse(json.value))];
  }

  function number(id, s) {
    const bounded = s.minimum !== undefined && s.maximum !== undefined;
    const step = s.type === "integer" ? 1 : bounded ? (s.maximum - s.minimum) / 100 : "any";
    const box = make("input", { id, type: "number", step: s.type === "integer" ? 1 : "any", value: s.default ?? "" });
    if (s.minimum !== undefined) box.min = s.minimum;
    if (s.maximum !== undefined) box.max = s.maximum;
    const value = () => (box.value === "" ? undefined : Number(box.value));
    if (!bounded) return [box, value];
    const slider = make("input", { type: "range", min: s.minimum, max: s.maximum, step, "aria-label": s.title || id });
    slider.value = s.default ?? s.minimum;
    slider.addEventListener("input", () => (box.value = slider.value));
    box.addEventListener("input", () => (slider.value = box.value));
    return [make("div", {}, box, slider, make("span", { className: "unit" }, `${s.minimum} to ${s.maximum}`)), value];
  }

  // file takes a URL, or files that are dropped, pasted or chosen, which become data: URLs.
  function file(id, s, many = false) {
    const url = make("input", { id, type: "text", placeholder: "https://… or drop, paste or choose a file" });
    if (typeof s.default === "string") url.value = s.default;
    const choose = make("input", { type: "file", multiple: many, "aria-label": "Choose a file" });
    if (s["x-cog-accept"]) choose.accept = s["x-cog-accept"];
    const shown = make("div");
    const box = make("div", { className: "drop" }, url, choose, shown);
    let taken = [];
    const take = async (files) => {
      taken = await Promise.all([...files].map(dataURL));
      url.value = "";
      shown.replaceChildren(...[...files].map((f, i) =>
        f.type.startsWith("image/") ? make("img", { src: taken[i], alt: f.name }) : make("p", { className: "help" }, `${f.name}, ${f.size} bytes`)));
      showCode();
    };
    choose.addEventListener("change", () => take(choose.files));
    url.addEventListener("input", () => { taken = []; shown.replaceChildren(); });
    url.addEventListener("paste", (e) => { if (e.clipboardData.files.length) { e.preventDefault(); take(e.clipboardData.files); } });
    box.addEventListener("dragover", (e) => { e.preventDefault(); box.classList.add("over"); });
    box.addEventListener("dragleave", () => box.classList.remove("over"));
    box.addEventListener("drop", (e) => { e.preventDefault(); box.classList.remove("over"); if (e.dataTransfer.files.length) take(e.dataTransfer.files); });
    const values = () => (taken.length ? taken : url.value.trim() ? url.value.trim().split(/\s+/) : []);
    return [box, () => (many ? (values().length ? values() : undefined) : values()[0])];
  }

  const dataURL = (f) => new Promise((done, failed) => {
    const r = new FileReader();
    r.onload = () => done(r.result);
    r.onerror = () => failed(r.error);
    r.readAsDataURL(f);
  });

  function parse(text) {
    try { return JSON.parse(text); } catch { return text; } // the server says what is wrong with it
  }

  const values = () => Object.fromEntries(fields.map((f) => [f.name, f.value()]).filter(([, v]) => v !== undefined));

  // ---- running ----

  async function run() {
    if (current) return;
    clearErrors();
    const kind = trains() ? "trainings" : "predictions";
    const id = `page-${Date.now().toString(36)}-${(serial++).toString(36)}`;
    const body = { id, input: values() };
    const streams = operation()["x-cog-streaming"] === true;
    const display = output()["x-cog-array-display"] === "concatenate" ? "text" : "list";
    current = { id, kind, began: performance.now(), chunks: [], shown: 0, logs: "", input: body.input, abort: new AbortController() };
    $("run").disabled = true;
    $("stop").disabled = false;
    $("logs").textContent = $("json").textContent = "";
    $("output").replaceChildren();
    $("metrics").replaceChildren();
    tick();
    let result;
    try {
      const response = await fetch("/" + kind, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(streams ? { Accept: "text/event-stream" } : {}) },
        body: JSON.stringify(body),
        signal: current.abort.signal,
      });
      if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) result = await follow(response, display);
      else result = await response.json().then((r) => (response.ok ? r : refused(response.status, r)));
    } catch (e) {
      result = { status: "failed", error: current.abort.signal.aborted ? "Stopped." : String(e.message || e) };
    }
    finish(result, display);
  }

  // follow reads server-sent events until the last one, and shows them as they come.
  async function follow(response, display) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", result = { status: "failed", error: "The stream ended early." };
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return result;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const text of events) {
        const event = {};
        for (const line of text.split("\n")) {
          const at = line.indexOf(": ");
          if (at > 0) event[line.slice(0, at)] = (event[line.slice(0, at)] || "") + line.slice(at + 2);
        }
        if (!event.event) continue;
        const data = JSON.parse(event.data);
        if (event.event === "output") current.chunks.push(data.chunk);
        else if (event.event === "log") $("logs").textContent = current.logs += data.data;
        else if (event.event === "error") result = { status: "failed", error: data.error };
        else if (event.event === "completed") result = data;
      }
      current.display = display; // tick shows them: once a frame, however many come
    }
  }

  function refused(status, answer) {
    if (Array.isArray(answer.detail)) {
      for (const problem of answer.detail) {
        const name = String(problem.loc?.[2] ?? "").split("/")[0];
        const f = fields.find((x) => x.name === name);
        if (!f) continue;
        f.error.textContent = problem.msg;
        f.element.classList.add("wrong");
        if (f.folded) $("optional").open = true;
      }
      document.querySelector(".wrong input, .wrong textarea, .wrong select")?.focus();
      return { status: "refused", error: answer.detail.map((p) => `${p.loc.slice(1).join(".")}: ${p.msg}`).join("\n") };
    }
    return { status: "refused", error: `${status}: ${answer.error || answer.detail || "refused"}` };
  }

  function clearErrors() {
    for (const f of fields) {
      f.error.textContent = "";
      f.element.classList.remove("wrong");
    }
  }

  function finish(result, display) {
    const run = current, took = (performance.now() - run.began) / 1000;
    current = null;
    $("run").disabled = false;
    $("stop").disabled = true;
    present(result, took, display);
    const label = `${new Date().toLocaleTimeString()} ${result.status} ${JSON.stringify(run.input)}`.slice(0, 100);
    const again = make("button", { type: "button", className: result.status }, label);
    again.addEventListener("click", () => present(result, took, display));
    $("history").prepend(make("li", {}, again));
  }

  function present(result, took, display) {
    const state = make("span", { className: result.status }, result.status);
    $("state").replaceChildren(state, ` in ${took.toFixed(took < 1 ? 3 : 1)} s`);
    show(result.output, display);
    if (result.error) $("output").append(make("p", { className: "failed text" }, result.error));
    $("logs").textContent = result.logs || "";
    $("json").textContent = JSON.stringify(result, (k, v) => (typeof v === "string" && v.length > 2000 ? v.slice(0, 2000) + "…" : v), 2);
    const rows = { ...(result.metrics || {}) };
    const predict = rows.predict_time;
    delete rows.predict_time;
    const list = [["In all", `${took.toFixed(3)} s`]];
    if (predict !== undefined) list.push(["In the model", `${predict.toFixed(4)} s`], ["Network, queue and server", `${Math.max(0, took - predict).toFixed(4)} s`]);
    for (const [k, v] of Object.entries(rows)) list.push([k, JSON.stringify(v)]);
    $("metrics").replaceChildren(...list.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));
  }

  function tick() {
    if (!current) return;
    const seconds = ((performance.now() - current.began) / 1000).toFixed(1);
    const count = current.chunks.length;
    $("state").textContent = `Running, ${seconds} s` + (count ? `, ${count} items, ${(count / Math.max(0.1, seconds)).toFixed(0)} a second` : "");
    if (count > current.shown) {
      current.shown = count;
      show(current.chunks, current.display);
    }
    requestAnimationFrame(tick);
  }

  // stop cancels what runs. The server does not know of a request that is still on its way there, so it is told again.
  async function stop() {
    const run = current;
    while (run && current === run) {
      const answer = await fetch(`/${run.kind}/${encodeURIComponent(run.id)}/cancel`, { method: "POST" }).catch(() => null);
      if (answer?.status !== 404) return;
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  // ---- showing ----

  function show(value, display) {
    const to = $("output");
    if (value === undefined || value === null) return to.replaceChildren();
    if (display === "text" && Array.isArray(value)) return to.replaceChildren(make("div", { className: "text" }, value.join("")));
    to.replaceChildren(view(value));
  }

  const media = (text) => {
    const kind = /^data:(image|audio|video)\//.exec(text)?.[1];
    if (kind) return kind;
    if (!/^https?:\/\//.test(text)) return "";
    const ending = text.split(/[?#]/)[0].split(".").pop().toLowerCase();
    if (["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "bmp"].includes(ending)) return "image";
    if (["mp3", "wav", "ogg", "flac", "m4a", "opus"].includes(ending)) return "audio";
    return ["mp4", "webm", "mov", "mkv"].includes(ending) ? "video" : "";
  };

  function view(v) {
    if (typeof v === "string") return text(v);
    if (Array.isArray(v)) {
      if (v.length > 3 && v.every((x) => typeof x === "number")) return vector(v);
      if (v.length && v.every((x) => x && typeof x === "object" && !Array.isArray(x))) return table(v);
      if (v.length && v.every((x) => typeof x === "string")) return make("div", {}, ...v.map((x) => make("div", { className: "item" }, text(x))));
    }
    if (v && typeof v === "object") return tree(v);
    return make("div", { className: "text" }, JSON.stringify(v));
  }

  function text(v) {
    switch (media(v)) {
      case "image": return make("img", { src: v, alt: "An image that the model returned" });
      case "audio": return make("audio", { src: v, controls: true });
      case "video": return make("video", { src: v, controls: true });
    }
    if (v.startsWith("data:")) return make("a", { href: v, download: "output" }, `Download (${v.slice(5, v.search(/[;,]/))}, ${v.length} characters)`);
    return make("div", { className: "text" }, v);
  }

  function vector(v) {
    const low = Math.min(...v.slice(0, 10000)), high = Math.max(...v.slice(0, 10000)), span = high - low || 1;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "vector");
    svg.setAttribute("viewBox", `0 0 ${v.length - 1} 1`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${v.length} numbers from ${low} to ${high}`);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", "M" + v.slice(0, 10000).map((y, x) => `${x},${1 - (y - low) / span}`).join("L"));
    svg.append(path);
    return make("div", {}, svg, make("p", { className: "help" }, `${v.length} numbers, ${low} to ${high}`), tree(v));
  }

  function table(rows) {
    const keys = [...new Set(rows.flatMap(Object.keys))];
    const cell = (x) => make("td", {}, x === undefined ? "" : typeof x === "object" ? JSON.stringify(x) : typeof x === "string" && media(x) ? text(x) : String(x));
    return make("table", {}, make("thead", {}, make("tr", {}, ...keys.map((k) => make("th", { scope: "col" }, k)))),
      make("tbody", {}, ...rows.slice(0, 1000).map((r) => make("tr", {}, ...keys.map((k) => cell(r[k]))))));
  }

  function tree(v, open = true) {
    const entries = Object.entries(v);
    const box = make("details", { open }, make("summary", {}, Array.isArray(v) ? `[ ${entries.length} ]` : `{ ${entries.length} }`));
    const fill = () => {
      if (box.children.length > 1) return;
      const list = make("div", { className: "tree" });
      for (const [k, x] of entries.slice(0, 1000)) {
        const line = make("div", {}, make("span", { className: "key" }, k + ": "));
        if (typeof x === "string" && media(x)) line.append(text(x));
        else line.append(x && typeof x === "object" ? tree(x, false) : JSON.stringify(x));
        list.append(line);
      }
      if (entries.length > 1000) list.append(make("p", { className: "help" }, `… and ${entries.length - 1000} more`));
      box.append(list);
    };
    box.addEventListener("toggle", fill);
    if (open) fill();
    return box;
  }

  // ---- the same request elsewhere ----

  function showCode() {
    const url = location.origin + (trains() ? "/trainings" : "/predictions");
    const short = (k, v) => (typeof v === "string" && v.length > 300 && v.startsWith("data:") ? v.slice(0, 60) + "…" : v);
    const body = JSON.stringify({ input: values() }, short);
    const shell = body.replaceAll("'", "'\\''");
    $("code").textContent = {
      curl: `curl -s ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '${shell}'`,
      python: `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps(json.loads(${JSON.stringify(body)})).encode(),\n    headers={"Content-Type": "application/json"},\n)\nprint(json.load(urllib.request.urlopen(request))["output"])`,
      javascript: `const response = await fetch("${url}", {\n  method: "POST",\n  headers: { "Content-Type": "application/json" },\n  body: JSON.stringify(${body}),\n});\nconsole.log((await response.json()).output);`,
    }[language];
  }

  // ---- health ----

  async function health() {
    let word = "not reachable", look = "bad", more = "";
    try {
      const h = await (await fetch("/health-check")).json();
      word = h.status;
      look = { READY: "good", BUSY: "busy", STARTING: "busy" }[word] || "bad";
      const ready = (h.workers || []).filter((w) => w.state === "ready").length;
      if (h.workers) more = `, ${ready} of ${h.workers.length} worker${h.workers.length === 1 ? "" : "s"}`;
      if (word === "SETUP_FAILED" && h.setup?.logs) $("logs").textContent = h.setup.logs;
      if (!fields.length && !document_.paths && (word === "READY" || word === "BUSY")) await load();
    } catch { /* as the words say */ }
    $("health-text").textContent = word + more;
    document.querySelector("#health .dot").className = "dot " + look;
    setTimeout(health, document.hidden ? 30000 : look === "good" ? 5000 : 1000);
  }

  $("form").addEventListener("submit", (e) => { e.preventDefault(); run(); });
  $("form").addEventListener("reset", (e) => { e.preventDefault(); build(); clearErrors(); });
  $("kind").addEventListener("change", build);
  $("stop").addEventListener("click", stop);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); }
    if (e.key === "Escape") stop();
  });
  for (const b of document.querySelectorAll("[data-code]")) {
    b.addEventListener("click", () => {
      language = b.dataset.code;
      for (const other of document.querySelectorAll("[data-code]")) other.setAttribute("aria-pressed", String(other === b));
      showCode();
    });
  }
  $("copy").addEventListener("click", () => navigator.clipboard?.writeText($("code").textContent));
  load().catch((e) => { $("fields").textContent = e.message; }).finally(health);
})();
