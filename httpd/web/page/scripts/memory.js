// The tab's session storage keeps the form's values across reloads, without secrets and large files.

const MAX_KEPT_FILE = 500_000; // characters of a data URL; a tab's storage has room for five million

const memoryKey = () => `pinion ${model.document?.info?.title ?? ""} ${collection()}`;

function rememberInputs() {
  const kept = {};
  for (const field of fields) {
    const value = isSecret(field.schema) ? undefined : toKept(field.get());
    if (value !== undefined) kept[field.name] = value;
  }
  try {
    sessionStorage.setItem(memoryKey(), JSON.stringify(kept));
  } catch {
    // There is no storage, or no room in it: a reload then clears the form.
  }
}

function recallInputs() {
  let kept = {};
  try {
    kept = JSON.parse(sessionStorage.getItem(memoryKey())) ?? {};
  } catch {
    return;
  }
  setInputs(Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, fromKept(value)])));
}

// toKept wraps a value in an object that says what it is: JSON alone has neither files nor large integers.
function toKept(value) {
  if (Array.isArray(value) && value.some((v) => v instanceof LocalFile)) {
    const files = value.map(toKept).filter((v) => v !== undefined);
    return files.length ? { list: files } : undefined;
  }
  if (value === undefined) return undefined;
  if (!(value instanceof LocalFile)) return { json: JSON.stringify(value) };
  return value.data.length > MAX_KEPT_FILE ? undefined : { file: [value.name, value.type, value.size, value.data] };
}

function fromKept(kept) {
  if (kept.list) return kept.list.map(fromKept);
  return kept.file ? new LocalFile(...kept.file) : parseExact(kept.json);
}
