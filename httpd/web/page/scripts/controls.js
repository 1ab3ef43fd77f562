// The controls of the form, one function for a kind of input. Each returns {element, get, set}: get() is the value, or
// undefined to leave the input out; set(value) shows a value that get() returned or that stands in a document.

// Secret is a value that is sent, and neither shown nor remembered.
class Secret {
  constructor(value, variable) {
    this.value = value;
    this.variable = variable; // of the environment, from which the shown code takes it
  }
  toJSON() {
    return this.value;
  }
}

// replacer is a replacer of JSON.stringify that is given the value itself beside what its toJSON returned: replace(given, value).
const replacer = (replace) =>
  function (key, value) {
    return replace(this[key], value);
  };

function makeControl(id, name, schema, required) {
  if (schema.enum) return choiceControl(id, schema, required);
  if (schema.type === "boolean") return (schema.nullable ? triState : switchControl)(id, schema, required);
  if (schema.type === "integer" || schema.type === "number") return numberControl(id, name, schema);
  if (isFile(schema)) return fileControl(id, name, schema, false);
  if (isFileList(schema)) return fileControl(id, name, schema, true);
  if (schema.type === "string" && schema.format === "password") return secretControl(id, name);
  if (schema.type === "string") return textControl(id, schema, required);
  if (isRowList(schema)) return listControl(id, name, schema);
  if (isTable(schema)) return tableControl(id, name, schema);
  return jsonControl(id, name, schema);
}

function choiceControl(id, schema, required) {
  const element = make("select", { id });
  if (!required && schema.default === undefined) element.append(make("option", { value: "" }, "—"));
  schema.enum.forEach((v, i) => element.append(make("option", { value: String(i), selected: v === schema.default }, String(v))));
  return {
    element,
    get: () => (element.value === "" ? undefined : schema.enum[Number(element.value)]),
    set: (value) => (element.value = String(schema.enum.indexOf(value))),
  };
}

// triState is for Optional[bool]: yes, no, and neither, which is left out where None is the default.
function triState(id, schema) {
  const neither = schema.default === undefined ? undefined : null;
  const values = [neither, true, false];
  const words = [neither === null ? "null" : "not set", "true", "false"];
  const element = make("select", { id }, ...words.map((word, i) => make("option", { value: String(i), selected: schema.default === values[i] }, word)));
  return { element, get: () => values[Number(element.value)], set: (value) => (element.value = String(Math.max(0, values.indexOf(value)))) };
}

function switchControl(id, schema, required) {
  const element = make("input", { id, type: "checkbox", checked: schema.default === true });
  let touched = schema.default !== undefined || required;
  element.addEventListener("change", () => (touched = true));
  return {
    element,
    get: () => (touched ? element.checked : undefined),
    set: (value) => {
      element.checked = value === true;
      touched = true;
    },
  };
}

function numberControl(id, name, schema) {
  const whole = schema.type === "integer";
  const { minimum: low, maximum: high } = schema;
  const box = make("input", { id, type: "number", step: whole ? 1 : "any", value: schema.default ?? "" });
  if (low !== undefined) box.min = low;
  if (high !== undefined) box.max = high;
  const get = () => (box.value === "" ? undefined : exactNumber(box.value));
  if (low === undefined || high === undefined) return { element: box, get, set: (value) => (box.value = numberText(value)) };
  const step = whole ? 1 : (high - low) / 100;
  const slider = make("input", { type: "range", min: low, max: high, step, "aria-label": `${name}, slider` });
  slider.value = schema.default ?? low;
  slider.addEventListener("input", () => (box.value = slider.value));
  box.addEventListener("input", () => (slider.value = box.value));
  return { element: make("div", { className: "ranged" }, box, slider), get, set: (value) => (slider.value = box.value = numberText(value)) };
}

const numberText = (value) => (isExact(value) ? JSON.stringify(value) : typeof value === "number" ? String(value) : "");

function textControl(id, schema, required) {
  const element = make("textarea", { id, rows: 1, value: schema.default ?? "" });
  let touched = schema.default !== undefined || required;
  element.addEventListener("input", () => (touched = true));
  return {
    element,
    get: () => (touched && !(element.value === "" && schema.nullable) ? element.value : undefined),
    set: (value) => {
      element.value = typeof value === "string" ? value : JSON.stringify(value);
      touched = true;
    },
  };
}

function secretControl(id, name) {
  const element = make("input", { id, type: "password", autocomplete: "off" });
  return {
    element,
    get: () => (element.value ? new Secret(element.value, variableOf(name)) : undefined),
    set: (value) => (element.value = value instanceof Secret ? value.value : ""),
  };
}

function jsonControl(id, name, schema) {
  const show = (value) => JSON.stringify(value);
  const element = make("textarea", { id, rows: 2, spellcheck: false, value: schema.default === undefined ? "" : show(schema.default) });
  element.placeholder = schema.type === "array" ? '["a", "b"]' : schema.type === "object" ? '{"key": "value"}' : "JSON";
  const secret = isSecret(schema);
  if (secret) element.className = "masked";
  const get = () => {
    if (element.value.trim() === "") return undefined;
    const value = parseTyped(element.value);
    return secret ? hideStrings(value, variableOf(name)) : value;
  };
  return { element, get, set: (value) => (element.value = show(value)) };
}

function parseTyped(text) {
  try {
    return parseExact(text);
  } catch {
    return text; // the server says what is wrong with it
  }
}

// hideStrings makes secrets of all texts in a value.
function hideStrings(value, variable) {
  if (typeof value === "string") return new Secret(value, variable);
  if (!value || typeof value !== "object" || isExact(value)) return value;
  const hidden = Object.entries(value).map(([key, part]) => [key, hideStrings(part, `${variable}_${variableOf(key)}`)]);
  return Array.isArray(value) ? hidden.map(([, part]) => part) : Object.fromEntries(hidden);
}

const variableOf = (name) => name.toUpperCase().replace(/[^A-Z0-9_]/g, "_");
