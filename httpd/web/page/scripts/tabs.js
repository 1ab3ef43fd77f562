// The tabs above the result. Arrows, Home and End move within them, as WAI-ARIA's pattern for tabs says.

const TABS = ["chat", "result", "code", "json", "history"];
const PANELS = { chat: "chat", result: "result", code: "code-box", json: "json-box", history: "history-box" };

const shownTab = () => TABS.find((name) => $("tab-" + name).getAttribute("aria-selected") === "true");

function showTab(name) {
  for (const other of TABS) {
    const chosen = other === name;
    $("tab-" + other).setAttribute("aria-selected", String(chosen));
    $("tab-" + other).tabIndex = chosen ? 0 : -1;
    $(PANELS[other]).hidden = !chosen;
  }
  $("tools").hidden = name !== "result";
  document.body.classList.toggle("chatting", name === "chat");
}

function moveTab(event) {
  const there = TABS.filter((name) => !$("tab-" + name).hidden);
  const at = there.indexOf(shownTab());
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const name = there[(to + there.length) % there.length];
  showTab(name);
  $("tab-" + name).focus();
}
