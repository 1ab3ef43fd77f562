// Lists and dicts, edited by rows. What rows cannot hold is edited as JSON, as is anything where the user prefers it.

const MAX_EDITED = 50; // rows; longer values are JSON

const isScalar = (schema) => Boolean(schema.enum) || ["integer", "number", "boolean"].includes(schema.type) || (schema.type === "string" && !["uri", "password"].includes(schema.format));
const isRowList = (schema) => schema.type === "array" && !isSecret(schema) && isScalar(resolve(schema.items ?? {}));

// isTable reports whether an input is a dict of any keys, with values of one type or of any.
const isTable = (schema) => schema.type === "object" && !schema.properties && !isSecret(schema) && !resolve(valueSchema(schema)).properties;
const valueSchema = (schema) => (typeof schema.additionalProperties === "object" ? schema.additionalProperties : {});

// listRow is the row of a list: {element, get, set}.
function listRow(id, name, schema) {
  const control = makeControl(id, name, resolve(schema.items), true);
  const box = control.element.id === id ? control.element : control.element.querySelector("#" + CSS.escape(id));
  box.setAttribute("aria-label", name);
  return { element: make("div", { className: "cell" }, control.element), get: control.get, set: control.set, first: box };
}

// tableRow is the row of a dict: a key and its value. A value of any type is JSON where it reads as JSON, else text.
function tableRow(id, name, schema) {
  const type = resolve(valueSchema(schema)).type;
  const key = make("input", { id, type: "text", placeholder: "key", "aria-label": `${name}, key` });
  const value = make("textarea", { rows: 1, placeholder: "value", "aria-label": `${name}, value` });
  const read = () => (type === "string" ? value.value : parseTyped(value.value));
  const written = (v) => (typeof v === "string" && (type === "string" || parseTyped(v) === v) ? v : JSON.stringify(v));
  return {
    element: make("div", { className: "cell pair" }, key, value),
    get: () => (key.value === "" && value.value === "" ? undefined : [key.value, read()]),
    set: ([k, v]) => {
      key.value = k;
      value.value = written(v);
    },
    first: key,
  };
}

// rowsControl is a control whose rows are made by makeRow. pack(values) is the input, unpack(input) the values; null means it
// does not fit into rows.
function rowsControl(id, name, schema, makeRow, pack, unpack) {
  const rows = make("div", { className: "rows" });
  const add = make("button", { type: "button", className: "plain", "aria-label": `${name}: add a row` }, "Add");
  const mode = make("button", { type: "button", className: "plain", "aria-label": `${name} as JSON`, "aria-pressed": "false" }, "JSON");
  const text = make("textarea", { id: id + "-json", rows: 2, spellcheck: false, hidden: true, "aria-label": `${name}, JSON` });
  const element = make("div", { id, className: "editor", role: "group", "aria-label": name, tabIndex: -1 }, rows, text, make("p", { className: "choices" }, add, mode));
  let all = [], count = 0, isSet = schema.default !== undefined;
  const changed = () => element.dispatchEvent(new Event("input", { bubbles: true }));
  const numberRow = (row, i) => {
    row.element.querySelectorAll("input, textarea, select").forEach((e) => e.setAttribute("aria-label", e.ariaLabel.replace(/ \d+(?=$|,)/, "").replace(name, `${name} ${i + 1}`)));
    row.element.lastElementChild.setAttribute("aria-label", `${name}: remove row ${i + 1}`);
  };
  const number = () => all.forEach(numberRow);
  const append = (value) => {
    const row = makeRow(`${id}-${count++}`, name, schema);
    const remove = make("button", { type: "button", className: "plain" }, "✕");
    remove.addEventListener("click", () => {
      all = all.filter((other) => other !== row);
      row.element.remove();
      number();
      add.focus();
      changed();
    });
    row.element.append(remove);
    if (value !== undefined) row.set(value);
    all.push(row);
    rows.append(row.element);
    number();
    return row;
  };
  const rowsValue = () => pack(all.map((row) => row.get()).filter((v) => v !== undefined));
  const asJSON = (is) => {
    mode.setAttribute("aria-pressed", String(is));
    text.hidden = !is;
    rows.hidden = add.hidden = is;
  };
  const show = (value) => {
    all = [];
    rows.replaceChildren();
    const values = unpack(value);
    asJSON(!values);
    if (values) values.forEach(append);
    else text.value = typeof value === "string" ? value : JSON.stringify(value);
  };
  add.addEventListener("click", () => {
    isSet = true;
    append().first.focus();
    changed();
  });
  mode.addEventListener("click", () => {
    if (text.hidden) {
      text.value = isSet || all.length ? JSON.stringify(rowsValue()) : "";
      asJSON(true);
      text.focus();
    } else {
      const value = text.value.trim() === "" ? pack([]) : parseTyped(text.value);
      if (unpack(value)) show(value);
      else mode.title = "This value does not fit into rows.";
    }
    changed();
  });
  element.addEventListener("input", () => (isSet = true));
  if (schema.default !== undefined) show(schema.default);
  const get = () => {
    if (!text.hidden) return text.value.trim() === "" ? undefined : parseTyped(text.value);
    return isSet ? rowsValue() : undefined;
  };
  return { element, get, set: (value) => ((isSet = true), show(value)) };
}

function listControl(id, name, schema) {
  const fits = (v) => v === null || typeof v !== "object" || isExact(v);
  return rowsControl(id, name, schema, listRow, (values) => values, (value) => (Array.isArray(value) && value.length <= MAX_EDITED && value.every(fits) ? value : null));
}

function tableControl(id, name, schema) {
  const fits = (value) => isRecord(value) && Object.keys(value).length <= MAX_EDITED;
  return rowsControl(id, name, schema, tableRow, (pairs) => Object.fromEntries(pairs), (value) => (fits(value) ? Object.entries(value) : null));
}
