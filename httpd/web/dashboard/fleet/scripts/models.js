// The card of a model: its counts and its servers. Cards stay where they are, so that their links keep the focus.

const STATES_OF_SERVERS = { draining: "busy", "not loaded": "", "takes jobs": "good" };

const stateOf = ({ draining, slots }) => (draining ? "draining" : slots === 0 ? "not loaded" : "takes jobs");

function figure(name, value, { look = "", of } = {}) {
  const number = make("dd", { className: look }, typeof value === "number" ? groups(value) : value);
  if (of !== undefined) number.append(make("small", {}, ` of ${groups(of)}`));
  return make("div", {}, make("dt", {}, name), number);
}

// The versions of the model that a server has, with the slots of each; "" means the model has none.
const versionsOf = ({ versions = {} }) =>
  Object.entries(versions).map(([version, slots]) => `, @${version}: ${groups(slots)}`).join("");

function serverRow(server) {
  const state = stateOf(server);
  const cells = [
    ["", server.name],
    ["", make("span", { className: `chip ${STATES_OF_SERVERS[state]}` }, state)],
    ["Slots in use", `${groups(server.slots - server.free)} of ${groups(server.slots)}${versionsOf(server)}`],
    ["Jobs", groups(server.running)],
    ["Version", server.version],
  ];
  return make("tr", {}, ...cells.map(([name, content]) => make("td", { className: "number", "data-name": name }, content)));
}

function serverTable(model) {
  if (model.servers.length === 0) return make("p", { className: "help" }, "No server takes its jobs.");
  const heads = ["Server", "State", "Slots in use", "Jobs", "Version"];
  return make("table", {},
    make("caption", { className: "unseen" }, `Servers of ${model.name}`),
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...model.servers.map(serverRow)));
}

function newCard(model) {
  const link = make("a", { href: model.docs, className: "pill" }, `Try ${model.name}`);
  const card = make("section", { className: "card", "aria-label": model.name }, make("div", { className: "head" }, make("h2", {}, model.name), make("span"), link));
  card.dataset.model = model.name;
  card.append(make("div", { className: "figures" }));
  return card;
}

function showModel(card, model) {
  const text = JSON.stringify(model);
  if (card.shown === text) return;
  card.shown = text;
  card.querySelector(".figures").replaceChildren(
    make("dl", {},
      figure("Servers", model.servers.filter((server) => !server.draining).length),
      figure("Waiting", model.waiting),
      figure("Running", model.running),
      figure("Oldest waiting", timeText(model.oldest_waiting)),
      figure("Dead letters", model.dead, { look: model.dead ? "bad" : "" }),
      figure("Stored", model.stored, { of: model.capacity })),
    serverTable(model));
}

// problemsOf lists what is wrong with a model's queue: {look, title, text}.
function problemsOf(model) {
  const found = [];
  const add = (look, title, text) => found.push({ look, title, text });
  if (model.error) return [{ look: "bad", title: `The queue of ${model.name} cannot be used.`, text: model.error }];
  if (model.waiting > 0 && !model.servers.some((server) => stateOf(server) !== "draining")) {
    add("bad", `No server takes the jobs of ${model.name}.`, `${plural(model.waiting, "job")} ${model.waiting === 1 ? "waits" : "wait"} for one.`);
  }
  if (model.stored >= model.capacity) add("bad", `The queue of ${model.name} is full.`, "New jobs are refused (--jobs-capacity).");
  if (model.dead > 0) add("busy", `${plural(model.dead, "dead letter")} of ${model.name}:`, `no server could end ${model.dead === 1 ? "that job" : "those jobs"}. pinion jobs list --model ${model.name} shows why.`);
  return found;
}
