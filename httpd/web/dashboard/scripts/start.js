// The event handlers of the page's elements. It is the last of the scripts.

makeCharts();
showCurrentModel();
for (const button of document.querySelectorAll("[data-range]")) {
  button.addEventListener("click", () => {
    range = Number(button.dataset.range);
    for (const other of document.querySelectorAll("[data-range]")) other.setAttribute("aria-pressed", String(other === button));
    renderCharts();
  });
}
for (const button of document.querySelectorAll("[data-list]")) button.addEventListener("click", () => chooseList(button.dataset.list));
$("search").addEventListener("input", () => chooseList(list.name === "deep" ? "ended" : list.name));
$("search").addEventListener("keydown", (e) => e.key === "Enter" && $("search").value.trim() && searchAll());
$("deep").addEventListener("click", searchAll);
$("log-box").addEventListener("toggle", showLog);
for (const id of ["log-level", "log-text"]) $(id).addEventListener("input", showLog);
$("list").addEventListener("focusout", () => setTimeout(() => !isFrozen() && showPredictions(view.at)));
$("newest").addEventListener("click", () => chooseList(list.name));
$("all").addEventListener("click", () => {
  list.whole = !list.whole;
  chooseList(list.name);
});
addEventListener("hashchange", () => {
  named = true;
  openNamed();
});
$("pause").addEventListener("click", pause);
$("retry").addEventListener("click", () => hurry());
document.addEventListener("visibilitychange", () => !document.hidden && !view.paused && render());
document.addEventListener("keydown", (e) => {
  if (e.target.closest("input, textarea, dialog") || e.ctrlKey || e.metaKey || e.altKey) {
    if (e.key === "Escape" && e.target === $("search")) $("search").blur();
    return;
  }
  if (e.key === "p") pause();
  if (e.key === "Escape" && list.opened) {
    const { opened } = list;
    closeDetails();
    opened.querySelector(".id").focus();
  }
  if (e.key === "/") {
    e.preventDefault();
    $("search").focus();
  }
});
follow();
