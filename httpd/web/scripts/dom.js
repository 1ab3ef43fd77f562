// Finding and making elements. Text is always set as text, never as HTML.

const $ = (id) => document.getElementById(id);

// make(tag, properties, ...children): a property with a hyphen, and "for", is an attribute.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

// draw(tag, attributes, ...children) makes an element of SVG.
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// openDialog opens a dialog. When that is closed, it is removed, and the opener gets the focus back.
function openDialog(dialog, opener) {
  dialog.addEventListener("close", () => {
    dialog.remove();
    opener?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// offerCopy makes a button copy a text and confirm it briefly.
function offerCopy(button, text) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed"; // the clipboard is for pages from https and from this machine
    }
    $("announced").textContent = button.textContent;
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}

// set changes an element's text if it differs.
const set = (element, text) => element.textContent !== text && (element.textContent = text);
