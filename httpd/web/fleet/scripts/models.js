// The card of a model: its counts and its servers. Cards stay where they are, so that their links keep the focus.

const figure = (name, value) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }));

const seconds = (value) => (value === undefined ? "–" : value < 120 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${Math.round(value / 60)} min`);

function serverRow(server) {
  const state = server.draining ? "draining" : server.slots === 0 ? "not loaded" : "takes jobs";
  const cells = [server.name, state, `${server.slots - server.free} of ${server.slots}`, server.running, server.version];
  return make("tr", {}, ...cells.map((text) => make("td", { textContent: String(text) })));
}

function serverTable(model) {
  if (model.servers.length === 0) return make("p", { className: "help", textContent: "No server takes its jobs." });
  const heads = ["Server", "State", "Slots in use", "Jobs", "Version"];
  const table = make("table", {},
    make("caption", { className: "unseen", textContent: `Servers of ${model.name}` }),
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })))),
    make("tbody", {}, ...model.servers.map(serverRow)));
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `Servers of ${model.name}` }, table);
}

function newCard(model) {
  const link = make("a", { href: model.docs, textContent: model.name });
  const card = make("section", { className: "card", "aria-label": model.name }, make("h2", {}, link));
  card.dataset.model = model.name;
  card.append(make("div", { className: "figures" }));
  return card;
}

function showModel(card, model) {
  const figures = card.querySelector(".figures");
  const focused = figures.contains(document.activeElement);
  if (focused) return; // the next one follows in two seconds
  const parts = [];
  if (model.error) parts.push(make("p", { className: "problem bad", textContent: model.error }));
  parts.push(make("dl", {},
    figure("Servers", model.servers.filter((server) => !server.draining).length),
    figure("Waiting", model.waiting), figure("Running", model.running),
    figure("Oldest waiting", seconds(model.oldest_waiting)),
    figure("Dead letters", model.dead), figure("Stored", `${model.stored} of ${model.capacity}`)));
  parts.push(serverTable(model));
  figures.replaceChildren(...parts);
}
