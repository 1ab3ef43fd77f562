// The form: one field for each input of the model, labelled with the input's name.

let fields = []; // of the current form

// buildForm makes the form again, with the defaults. Call formChanged once its inputs have their values.
function buildForm() {
  const schema = inputSchema();
  const required = new Set(schema.required ?? []);
  fields = Object.entries(schema.properties ?? {})
    .map(([name, s]) => makeField(name, resolve(s), required.has(name)))
    .sort((a, b) => (a.schema["x-order"] ?? 0) - (b.schema["x-order"] ?? 0));
  $("fields").replaceChildren(...fields.filter((f) => !f.folded).map((f) => f.element));
  $("more").replaceChildren(...fields.filter((f) => f.folded).map((f) => f.element));
  $("actions").hidden = false;
  $("optional").hidden = !fields.some((f) => f.folded);
  const messages = openAIEndpoint() === "chat" && fields.find((f) => f.name === "messages");
  if (messages && messages.get() === undefined) messages.set([{ role: "user", content: "Hello" }]);
  if (!fields.length) $("fields").replaceChildren(make("p", { className: "help" }, "This model has no inputs."));
  showExamples();
}

function makeField(name, schema, required) {
  if (schema.default === null) schema = { ...schema, default: undefined }; // what an input that is left out gets
  const id = "in-" + name;
  const folded = !required && !isFile(schema) && !isFileList(schema) && (schema.nullable || schema.deprecated) && schema.default === undefined;
  const control = makeControl(id, name, schema, required);
  const words = [typeOf(schema), required && "required", schema.deprecated && "deprecated"].filter(Boolean);
  const label = make("label", { for: id }, make("code", {}, name));
  const changed = make("span", { className: "changed" }); // the default, beside another value
  const head = make("div", { className: "label" }, label, make("span", { className: "type" }, words.join(", "), changed));
  const error = make("p", { className: "error", id: id + "-error" });
  const element = make("div", { className: "field", "data-name": name }, head);
  const texts = [error.id];
  if (schema.description && schema.description !== "An enumeration.") {
    element.append(make("p", { className: "help", id: id + "-help" }, schema.description));
    texts.unshift(id + "-help");
  }
  const main = control.element.id === id ? control.element : control.element.querySelector("#" + CSS.escape(id));
  main.setAttribute("aria-describedby", texts.join(" "));
  if (required) main.setAttribute("aria-required", "true");
  element.append(control.element, error);
  element.addEventListener("input", formChanged);
  return { name, schema, folded, element, error, main, changed, get: control.get, set: control.set };
}

// formChanged follows every change of an input.
function formChanged() {
  for (const { schema, changed, get } of fields) {
    const isOther = schema.default !== undefined && JSON.stringify(get()) !== JSON.stringify(schema.default);
    const text = isOther ? JSON.stringify(schema.default) : "";
    changed.textContent = isOther ? `, default ${text.length > 40 ? text.slice(0, 40) + "…" : text}` : "";
  }
  showCode();
  rememberInputs();
  showTalk();
}

// inputs returns the values to send. Files, secrets and large integers are objects that JSON.stringify writes as their values.
const inputs = () => Object.fromEntries(fields.map((f) => [f.name, f.get()]).filter(([, value]) => value !== undefined));

// filledIn returns the inputs that differ from their defaults.
const filledIn = () => Object.fromEntries(fields.map((f) => [f, f.get()]).filter(([f, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(f.schema.default)).map(([f, value]) => [f.name, value]));

// setInputs shows values, and leaves the other inputs as they are.
function setInputs(values) {
  for (const field of fields) {
    const value = values[field.name];
    if (!Object.hasOwn(values, field.name) || value === undefined || (value === null && !takesNull(field.schema))) continue;
    field.set(value);
    if (field.folded) $("optional").open = true;
  }
}

// takesNull reports whether None is another value than the default, by leaving the input out.
const takesNull = (schema) => schema.type === "boolean" && schema.nullable && schema.default !== undefined;

// showProblems shows the server's validation errors beside their inputs, and focuses the first.
function showProblems(problems) {
  for (const problem of problems) {
    const name = String(problem.loc?.[2] ?? "").split("/")[0];
    const field = fields.find((f) => f.name === name);
    if (!field) continue;
    field.error.textContent = problem.msg;
    field.element.classList.add("wrong");
    field.main.setAttribute("aria-invalid", "true");
    if (field.folded) $("optional").open = true;
  }
  fields.find((f) => f.element.classList.contains("wrong"))?.main.focus();
}

function clearProblems() {
  for (const field of fields) {
    field.error.textContent = "";
    field.element.classList.remove("wrong");
    field.main.removeAttribute("aria-invalid");
  }
}
