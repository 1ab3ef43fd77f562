// The page asks for the state every two seconds, while it is seen.

const ASK_EVERY = 2000;

let shownProblems = "[]";

function show(state) {
  const main = $("fleet");
  const cards = new Map([...main.querySelectorAll("section")].map((card) => [card.dataset.model, card]));
  for (const model of state.models) {
    let card = cards.get(model.name);
    if (!card) main.append((card = newCard(model)));
    cards.delete(model.name);
    showModel(card, model);
  }
  for (const card of cards.values()) card.remove();
  $("none").hidden = state.models.length > 0 || Boolean(state.error);
  const found = state.models.flatMap(problemsOf);
  if (state.error) found.unshift({ look: "bad", title: "The job queue cannot be used.", text: state.error });
  showProblems(found);
}

function showProblems(found) {
  const text = JSON.stringify(found);
  const worst = found.find((p) => p.look === "bad");
  document.title = worst ? `(!) ${worst.title}` : "Fleet: live view";
  if (text === shownProblems) return;
  shownProblems = text;
  $("problems").replaceChildren(...found.map(problemBox));
  $("announced").textContent = found.map((p) => `${p.title} ${p.text}`).join(" ");
}

// connected shows whether the gateway answers; if not, the figures are outdated.
function connected(why = "") {
  document.body.classList.toggle("lost", why !== "");
  $("lost").hidden = why === "";
  set($("lost-text"), why);
  showFeed(why === "" ? "good" : "bad", why === "" ? "Live" : "Not connected");
}

async function ask() {
  if (document.hidden) return;
  try {
    const response = await request("/dashboard/fleet");
    if (!response.ok) throw new Error((await response.json()).detail ?? `The gateway answers ${response.status}.`);
    show(await response.json());
    connected();
  } catch (error) {
    connected(error instanceof TypeError ? "The gateway cannot be reached." : error.message);
  }
}

async function repeat() {
  for (;;) {
    await ask();
    await new Promise((next) => setTimeout(next, ASK_EVERY));
  }
}

repeat();
