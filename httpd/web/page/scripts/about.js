// What the model's folder has beside its code: a README, a logo, examples.

const about = { readme: "", examples: [] };

async function loadAbout() {
  if ($("read").dataset.asked !== "true") return; // a gateway has no folder
  const found = await request("/docs/about").then((response) => (response.ok ? response.json() : null)).catch(() => null);
  if (!found) return; // the form works without it
  Object.assign(about, found);
  $("read").hidden = !about.readme;
  if (about.logo) {
    $("logo").src = about.logo;
    $("logo").hidden = false;
    document.querySelector("link[rel=icon]").href = about.logo;
  }
}

function openReadme() {
  const text = make("div", { className: "markdown" });
  showMarkdown(text, about.readme);
  const close = make("button", { type: "button", className: "plain", autofocus: true }, "Close");
  const dialog = make("dialog", { className: "reader", "aria-label": "README" }, text, make("p", { className: "choices" }, close));
  close.addEventListener("click", () => dialog.close());
  openDialog(dialog, $("read"));
}
