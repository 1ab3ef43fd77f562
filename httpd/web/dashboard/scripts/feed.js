// The server's events, and what the page shows while the connection is lost.

const view = { hello: null, state: null, recent: null, ended: null, usual: null, at: 0, paused: false }; // usual is the p99 of the model's time, in seconds

const SILENCE = 5000; // milliseconds without an event after which the connection counts as lost
const LONGEST_WAIT = 15000; // between two tries

let heard = 0; // when the last event arrived, by this machine's clock
let hurry = () => {}; // ends the wait for the next try

async function follow() {
  for (let failures = 0; ; failures++) {
    const stop = new AbortController();
    const watch = setInterval(() => heard && performance.now() - heard > SILENCE && stop.abort(), 1000);
    let why = "", events = 0, withheld = false; // the user gave no token, and is asked again when they want to
    heard = 0;
    try {
      const response = await request("/dashboard/events", { signal: stop.signal });
      withheld = response.status === 401;
      if (!response.ok) throw new Error((await response.json()).detail);
      heard = performance.now();
      for await (const { event, data } of serverEvents(response)) {
        heard = performance.now();
        take(event, data);
        if (++events === 2) showConnected();
      }
    } catch (error) {
      why = error.name === "AbortError" ? "The server is silent." : error instanceof TypeError ? "The server cannot be reached." : error.message;
    }
    clearInterval(watch);
    if (events >= 2) failures = 0;
    if (!why && events === 2) await wait(2000); // a proxy that speaks HTTP/1.0 gets two events per request
    else await waitAfter(why || "The server has ended the connection.", withheld ? Infinity : Math.min(LONGEST_WAIT, 1000 * 2 ** failures));
  }
}

function take(event, data) {
  if (event === "hello") {
    view.hello = data;
    Object.assign(history, { columns: data.columns, points: data.points });
    list.all = list.found = null;
    Object.assign(log, { records: [], last: 0 });
    closeDetails();
    $("docs").hidden = !data.docs;
    return;
  }
  const { at, point, recent, ended, usual_p99: usual, state, predictions, log: logged } = data;
  Object.assign(view, { at, recent, ended, usual, state: state ?? view.state });
  if (point) addPoint(point);
  if (predictions) list.all = predictions;
  if (logged) addRecords(logged);
  if (!view.paused) requestAnimationFrame(render);
}

function render() {
  if (!view.state) return;
  const found = problemsOf(view.state, view.recent, view.at);
  showTitle(found);
  if (document.hidden) return;
  showStatus(view, view.at);
  showProblems(found);
  renderCharts();
  showRecent(view.recent, view.ended);
  showGPUs(view.state.gpus);
  showWorkers(view.state, view.at);
  showModels(view.state.models);
  showSetup(view.state.setup);
  showPredictions(view.at);
  openNamed();
  refreshDetails();
  showLog();
}

// showTitle shows problems in the title of the browser's tab.
function showTitle(found) {
  const worst = found.find((p) => p.look === "bad");
  document.title = worst ? `(!) ${worst.title} ${view.hello.model}` : `${view.hello.model}: live view`;
}

function showConnected() {
  document.body.classList.remove("lost");
  $("lost").hidden = true;
  showFeed(view.paused ? "busy" : "good", view.paused ? "Paused" : "Live");
}

// waitAfter waits before the next try, and says so.
async function waitAfter(text, milliseconds) {
  const why = text.replace(/[^.]$/, "$&.");
  const until = performance.now() + milliseconds;
  document.body.classList.add("lost");
  $("lost").hidden = false;
  $("announced").textContent = "Not connected. " + why;
  document.title = `(not connected) ${view.hello?.model ?? "live view"}`;
  for (;;) {
    const left = Math.ceil((until - performance.now()) / 1000);
    if (left <= 0) break;
    $("lost-text").textContent = `${why} ${view.at ? `What you see is from ${clockText(view.at)}. ` : ""}${left < Infinity ? `Next try in ${left} s.` : ""}`;
    showFeed("bad", "Not connected");
    if (await wait(Math.min(1000, until - performance.now()))) break;
  }
  $("lost-text").textContent = `${why} Trying …`;
}

// wait returns true if it was cut short.
const wait = (milliseconds) =>
  new Promise((done) => {
    const timer = setTimeout(() => done(false), milliseconds);
    hurry = () => {
      clearTimeout(timer);
      done(true);
    };
  });

function pause() {
  view.paused = !view.paused;
  $("pause").setAttribute("aria-pressed", String(view.paused));
  $("pause").firstChild.textContent = view.paused ? "Resume " : "Pause ";
  $("announced").textContent = view.paused ? "Paused" : "Live";
  if (!document.body.classList.contains("lost")) showConnected();
  if (!view.paused) render();
}
