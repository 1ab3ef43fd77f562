// The event handlers of the page's elements. It is the last of the scripts.

// fitSide keeps the result on the screen, beside the header.
function fitSide() {
  const above = Math.max(16, document.querySelector("main").getBoundingClientRect().top);
  $("side").style.setProperty("--room", `calc(100vh - ${above}px - 1rem)`);
}

// clearOfBar keeps what has the focus from being below a bar that stays in view (WCAG 2.4.11).
function clearOfBar(element, bar) {
  if (bar.contains(element) || getComputedStyle(bar).position !== "sticky") return;
  const over = element.getBoundingClientRect().bottom + 8 - bar.getBoundingClientRect().top;
  if (over > 0) scrollBy(0, over);
}

for (const [area, bar] of [["form", "actions"], ["chat", "composer"]]) {
  $(area).addEventListener("focusin", ({ target }) => {
    clearOfBar(target, $(bar));
    requestAnimationFrame(() => clearOfBar(target, $(bar))); // the browser may scroll after the event
  });
}
showCurrentModel();
$("form").addEventListener("submit", (e) => {
  e.preventDefault();
  run();
});
$("form").addEventListener("reset", (e) => {
  e.preventDefault();
  clearProblems();
  buildForm();
  formChanged();
});
$("kind").addEventListener("change", () => {
  buildForm();
  recallInputs();
  openChat();
  formChanged();
});
$("stop").addEventListener("click", stop);
document.addEventListener("keydown", (e) => {
  if (document.querySelector("dialog[open]")) return; // Escape closes the dialog, and stops no prediction
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
    e.preventDefault();
    (shownTab() === "chat" ? sendMessage : run)();
  }
  if (e.key === "Escape") stop();
});
for (const button of document.querySelectorAll("[data-code]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-code]")) other.setAttribute("aria-pressed", String(other === button));
    showCode();
  });
}
offerCopy($("copy"), () => $("code").textContent);
offerCopy($("copy-output"), () => copyable);
offerCopy($("copy-json"), () => JSON.stringify(answered, null, 2) ?? "");
for (const name of TABS) $("tab-" + name).addEventListener("click", () => showTab(name));
document.querySelector("[role=tablist]").addEventListener("keydown", moveTab);
$("zip").addEventListener("click", () => save(zipOf(shownFiles), "output.zip"));
$("forget").addEventListener("click", forgetHistory);
$("share").addEventListener("click", share);
$("read").addEventListener("click", openReadme);
addEventListener("hashchange", () => openShared() && formChanged());
new ResizeObserver(fitSide).observe(document.querySelector("header"));
addEventListener("scroll", fitSide, { passive: true });
addEventListener("resize", fitSide);
watchHealth();
