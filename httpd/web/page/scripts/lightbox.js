// A picture as large as the window, with buttons for the other pictures of the output.

// enlargeable is a button around a picture, which shows it enlarged.
function enlargeable(picture, name) {
  const button = make("button", { type: "button", className: "enlarge", "aria-label": `Enlarge ${name}` }, picture);
  button.addEventListener("click", () => openLightbox(button));
  return button;
}

function openLightbox(button) {
  const all = [...$("output").querySelectorAll(".enlarge")];
  const shown = make("img"), name = make("p", { className: "help", role: "status" });
  const step = (label, by) => {
    const to = make("button", { type: "button", className: "plain", hidden: all.length < 2 }, label);
    to.addEventListener("click", () => show((at + by + all.length) % all.length));
    return to;
  };
  const close = make("button", { type: "button", className: "plain", autofocus: true }, "Close");
  const dialog = make("dialog", { className: "lightbox", "aria-label": "Picture" }, shown, make("p", { className: "choices" }, name, step("Previous", -1), step("Next", 1), close));
  let at = 0;
  const show = (next) => {
    at = next;
    const picture = all[at].querySelector("img");
    shown.src = picture.src;
    shown.alt = picture.alt;
    name.textContent = `${picture.alt.replace("Image ", "")}, ${picture.naturalWidth} × ${picture.naturalHeight}${all.length > 1 ? `, ${at + 1} of ${all.length}` : ""}`;
  };
  show(all.indexOf(button));
  close.addEventListener("click", () => dialog.close());
  shown.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (e) => {
    if (all.length > 1 && (e.key === "ArrowRight" || e.key === "ArrowLeft")) show((at + (e.key === "ArrowRight" ? 1 : -1) + all.length) % all.length);
  });
  openDialog(dialog, button);
}
