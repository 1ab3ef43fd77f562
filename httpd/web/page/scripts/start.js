// What connects the page's elements with what they do. It is the last of the scripts.

// fitSide keeps the output and the code on the screen, beside the header.
function fitSide() {
  const above = Math.max(16, document.querySelector("main").getBoundingClientRect().top);
  $("side").style.setProperty("--room", `calc(100vh - ${above}px - 1rem)`);
}

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
  formChanged();
});
$("stop").addEventListener("click", stop);
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
    e.preventDefault();
    run();
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
new ResizeObserver(fitSide).observe(document.querySelector("header"));
addEventListener("scroll", fitSide, { passive: true });
addEventListener("resize", fitSide);
watchHealth();
