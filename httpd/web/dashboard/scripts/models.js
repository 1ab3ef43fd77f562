// All models of the server, and the setup of this one.

const MODEL_LOOKS = { ready: "good", loading: "busy", unloading: "busy", unloaded: "", failed: "bad", defunct: "bad" };

// showModels lists the models with their states, and colours their tabs. A server of one model sends none.
function showModels(models = []) {
  $("models-box").hidden = !models.length;
  if (!models.length) return;
  const tabs = [...document.querySelectorAll("#models a")];
  const hooks = models.some((m) => m.pending || m.lost);
  const names = ["Model", "State", "Running", "Waiting", ...(hooks ? ["Webhooks"] : [])];
  const row = ({ name, state, running, queued, slots, ...counts }, i) => {
    const tab = tabs[i], look = MODEL_LOOKS[state] ?? "bad";
    if (tab) {
      tab.querySelector(".dot") ?? tab.prepend(make("span", { className: "dot" }));
      tab.querySelector(".dot").className = `dot ${look}`;
      tab.title = state;
    }
    const cells = [tab ? make("a", { href: tab.getAttribute("href") }, name) : name, make("span", { className: `chip ${look}` }, state), `${groups(running)} of ${groups(slots)}`, groups(queued), ...(hooks ? [webhooksText(counts)] : [])];
    return make("tr", {}, ...cells.map((c, k) => make("td", { className: k ? "number" : "", "data-name": k < 2 ? "" : names[k] }, c)));
  };
  const text = JSON.stringify(models);
  if ($("all-models").shown === text) return;
  $("all-models").shown = text;
  const focused = document.activeElement?.closest("#all-models a")?.textContent;
  const head = make("tr", {}, ...names.map((c) => make("th", { scope: "col" }, c)));
  $("all-models").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...models.map(row))));
  if (focused) [...$("all-models").querySelectorAll("a")].find((a) => a.textContent === focused)?.focus();
}

// webhooksText counts a model's webhooks: the pending ones, and those lost since the start.
function webhooksText({ pending = 0, retrying = 0, lost = 0 }) {
  const counts = [["on their way", pending - retrying], ["tried again", retrying], ["lost", lost]].filter(([, n]) => n > 0);
  return counts.map(([words, n]) => `${groups(n)} ${words}`).join(", ") || NONE;
}

// showSetup shows how long the last setup took, and its logs. One that runs or has failed is a problem, and is shown above.
function showSetup(setup) {
  $("setup-box").hidden = setup.status !== "succeeded";
  set($("setup-title"), `Setup took ${timeText(setup.seconds)}`);
  set($("setup-logs"), written(setup.logs ?? "") || "It wrote nothing.");
}
