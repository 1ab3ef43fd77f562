// The server's health. The form appears once the model is set up; a failed setup shows its logs.

async function watchHealth() {
  let health = null;
  try {
    health = await (await request("/health-check")).json();
  } catch {
    // shown as not reachable
  }
  showServer(health?.status ?? "UNREACHABLE", health ? loadOf(health).join(", ") : "");
  if (health?.status === "SETUP_FAILED") showFailedSetup(health.setup);
  else if (health && !model.document && !tokenWithheld) await openForm(health);
  else if (health && setupOf(health) !== shownSetup && !running) await followReload(health);
  setTimeout(watchHealth, document.hidden ? 30000 : health?.status === "READY" ? 5000 : 1000);
}

// loadOf returns the server's load in words: its ready workers and its waiting predictions.
function loadOf(health) {
  const words = [];
  const workers = health.workers ?? [];
  if (workers.length) {
    const ready = workers.filter((w) => w.state === "ready").length;
    words.push(`${ready} of ${plural(workers.length, "worker")} ready`);
  }
  if (health.queue?.length) words.push(`${health.queue.length} of ${health.queue.capacity} waiting`);
  return words;
}

let tokenWithheld = false; // the user was asked for a token and gave none: no use in asking every second

function withholdToken(health) {
  tokenWithheld = true;
  const button = make("button", { type: "button", className: "plain" }, "Enter a token");
  button.addEventListener("click", () => {
    tokenWithheld = false;
    openForm(health);
  });
  $("fields").append(make("p", {}, button));
}

const isSetUp = (health) => ["READY", "BUSY", "UNHEALTHY", "DEFUNCT"].includes(health.status);
const setupOf = (health) => health.setup?.started_at;

let shownSetup; // when the setup of the form's model began

// openForm shows the form, if the model is set up.
async function openForm(health) {
  if (!isSetUp(health)) {
    $("fields").textContent = "The model is being set up. Its inputs appear here when it is ready.";
    if (health.status === "STARTING") showSetup(health.setup);
    return;
  }
  endSetup();
  try {
    await loadModel();
  } catch (error) {
    $("fields").textContent = error.message;
    if (error.wantsToken) withholdToken(health);
    return;
  }
  shownSetup = setupOf(health);
  await showModel();
  recallInputs();
  openShared();
  openChat();
  formChanged();
  loadExamples();
  recallHistory();
}

// endSetup removes what was shown of the setup.
function endSetup() {
  $("fields").textContent = "";
  if ($("state").className) forgetResult();
}

// showModel shows the model's name, its description and the form, with the defaults.
async function showModel() {
  const { title, description } = model.document.info ?? {};
  $("title").textContent = document.title = title || "Model";
  showAbout(description ?? "");
  $("code-box").querySelector("[data-code=openai]").hidden = !openAIEndpoint();
  $("kind").hidden = !(schemas().TrainingInput && schemas().Input);
  if (!schemas().Input && schemas().TrainingInput) document.querySelector("[value=trainings]").checked = true;
  await loadAbout();
  buildForm();
}

// followReload makes the form again after the model was reloaded with other inputs. Values that the user filled in stay.
async function followReload(health) {
  if (!isSetUp(health)) return;
  const filled = filledIn(), focused = document.activeElement.id;
  try {
    if (!(await loadModel())) return (shownSetup = setupOf(health));
  } catch {
    return; // the next poll tries again
  }
  shownSetup = setupOf(health);
  await showModel();
  setInputs(filled);
  openChat();
  formChanged();
  loadExamples();
  $("fields").prepend(make("p", { className: "help", role: "status" }, "The model was reloaded. The form has its inputs as they are now."));
  if (focused) $(focused)?.focus();
}

const MAX_ABOUT = 400; // characters of a description that are always shown, if it has more than a paragraph

function showAbout(text) {
  const end = text.length > MAX_ABOUT ? text.indexOf("\n\n") : -1;
  if (end < 0) $("about").textContent = text;
  else $("about").replaceChildren(text.slice(0, end), make("details", {}, make("summary", {}, "More about the model"), text.slice(end + 2)));
}

// showSetup shows how far the setup is: its time, its logs, and a bar where their last line has one.
function showSetup(setup) {
  const logs = setup?.logs ?? "";
  const seconds = setup?.started_at ? Math.max(0, Math.round((Date.now() - Date.parse(setup.started_at)) / 1000)) : 0;
  $("state").className = "in-setup";
  $("state").textContent = "The model is being set up" + (seconds ? `, for ${timeText(seconds)}` : "");
  $("nothing").hidden = Boolean(logs);
  showLogs(logs);
  showDone(logs);
  $("logs").scrollTop = $("logs").scrollHeight;
}

function showFailedSetup(setup) {
  const logs = setup?.logs ?? "";
  if (!model.document) $("fields").textContent = "The model could not be set up, so there is nothing to run.";
  if (running || $("logs").textContent === written(logs)) return;
  clearResult();
  $("state").className = "failed-setup";
  $("state").textContent = $("announced").textContent = "The model's setup failed";
  showFailure(tracebackOf(logs).split("\n").pop() || "The logs say why.", logs);
  showLogs(logs);
}
