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
