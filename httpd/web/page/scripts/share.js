// A link to the page with its inputs. They are in the fragment, which browsers send to no server. Secrets and files are left out.

const MAX_LINK = 30_000; // characters: longer links break in other programs

function sharedLink() {
  const shared = {};
  for (const field of fields) {
    const value = isSecret(field.schema) ? undefined : field.get();
    const text = value === undefined || hasLocalFile(value) ? undefined : JSON.stringify(value);
    if (text !== undefined) shared[field.name] = text;
  }
  const all = JSON.stringify({ ...(isTraining() ? { kind: "trainings" } : {}), input: shared });
  return new URL("#" + encodeBase64(all), location.href).href;
}

const hasLocalFile = (value) => value instanceof LocalFile || (typeof value === "string" && isDataURL(value)) || (Array.isArray(value) && value.some(hasLocalFile));

const encodeBase64 = (text) => btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const decodeBase64 = (text) => new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));

async function share() {
  const link = sharedLink();
  const button = $("share");
  const say = (word) => {
    button.textContent = $("announced").textContent = word;
    setTimeout(() => (button.textContent = "Share"), 2500);
  };
  if (link.length > MAX_LINK) return say("Too long for a link");
  window.history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    say("Link copied");
  } catch {
    say("The link is in the address bar");
  }
}

// sharedInputs are the inputs of the page's own link, and its kind; null means the link has none that can be read. Each value
// may be of any type: the link may come from anyone.
function sharedInputs() {
  try {
    const { kind, input } = JSON.parse(decodeBase64(location.hash.slice(1)));
    return { kind, input: Object.fromEntries(Object.entries(input).map(([name, text]) => [name, parseExact(text)])) };
  } catch {
    return null;
  }
}

// openShared fills in the form once. It does not overwrite later changes of the user.
function openShared() {
  const shared = location.hash.length > 1 ? sharedInputs() : null;
  if (!shared) return false;
  const training = document.querySelector("[name=kind][value=trainings]");
  if (shared.kind === "trainings" && !$("kind").hidden && !training.checked) {
    training.checked = true;
    buildForm();
  }
  setInputs(shared.input);
  window.history.replaceState(null, "", location.pathname + location.search);
  return true;
}
