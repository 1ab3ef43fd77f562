// The page asks for the state every two seconds, while it is seen.

const ASK_EVERY = 2000;

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
  $("none").hidden = state.models.length > 0;
  lost(state.error ?? "");
}

function lost(why) {
  $("lost").hidden = why === "";
  $("lost-text").textContent = why;
  $("feed-text").textContent = why === "" ? "Live" : "Not connected";
}

async function ask() {
  if (document.hidden) return;
  try {
    const response = await request("/dashboard/fleet");
    if (!response.ok) throw new Error(`The gateway answers ${response.status}.`);
    show(await response.json());
  } catch (error) {
    lost(error.message);
  }
}

async function repeat() {
  for (;;) {
    await ask();
    await new Promise((next) => setTimeout(next, ASK_EVERY));
  }
}

repeat();
