// The top of the view: state, charts, and how the last minute's predictions went.

function showStatus(view, at) {
  const { state, hello } = view;
  const ready = state.workers.filter((w) => w.state === "ready").length;
  showServer(state.stopping ? "STOPPING" : state.status, `${ready} of ${plural(state.workers.length, "worker")} ready`);
  const versions = [`Pinion ${hello.versions.pinion}`, state.python && `Python ${state.python}`].filter(Boolean);
  $("about").textContent = ["Live view", `up ${timeText(Math.ceil((at - hello.began) / 1000))}`, ...versions].join(" · ");
}

const charts = [];

function makeCharts() {
  const share = (all) => all.filter(Boolean).join(", ");
  charts.push(
    makeChart($("rate-chart"), [{ name: "succeeded", color: "blue", area: true }, { name: "canceled", color: "grey", area: true }, { name: "refused", color: "amber", area: true }, { name: "failed", color: "bad", area: true }], {
      label: "Predictions a second", text: rateText,
      read: (of) => share([`${rateText(of("succeeded"))} succeeded`, of("failed") && `${rateText(of("failed"))} failed`, of("refused") && `${rateText(of("refused"))} refused`, of("canceled") && `${rateText(of("canceled"))} canceled`]) + " a second",
    }),
    makeChart($("latency-chart"), [{ name: "p99", color: "pink" }, { name: "p90", color: "violet" }, { name: "p50", color: "blue" }], {
      label: "Latency", worst: true, log: true, text: timeText,
      read: (of) => `p50 ${timeText(of("p50"))}, p90 ${timeText(of("p90"))}, p99 ${timeText(of("p99"))}`,
    }),
    makeChart($("load-chart"), [{ name: "running", color: "blue", area: true }, { name: "queued", color: "amber", area: true }], {
      label: "Running and waiting", worst: true, whole: true, text: (v) => digits(v), limit: () => (view.state?.capacity ? view.state.capacity + view.state.slots : 0),
      read: (of) => `${of("running")} running, ${of("queued")} waiting`,
    }),
  );
}

function renderCharts() {
  if (!view.state) return;
  charts.forEach((render) => render());
  showFigures();
}

// showFigures writes the large numbers: the current ones, or those of the moment that the reader has chosen.
function showFigures() {
  const point = pointAtMoment();
  const of = (name) => (point ?? latest())?.[column(name)] ?? null;
  set($("moment"), point ? `At ${clockText(point[0] * 1000)}` : "Now");
  const last = history.points.slice(-10);
  const mean = (name) => (last.length ? last.reduce((sum, p) => sum + p[column(name)], 0) / last.length : 0);
  const rate = (name) => (point ? of(name) : mean(name));
  const all = rate("succeeded") + rate("failed") + rate("canceled");
  $("rate").textContent = rateText(all);
  const others = [["failed", rate("failed")], ["refused", rate("refused")]].filter(([, n]) => n > 0).map(([word, n]) => `${rateText(n)} ${word}`);
  $("rate-text").textContent = others.join(", ");
  $("latency").replaceChildren(
    ...[["p50", "blue"], ["p90", "violet"], ["p99", "pink"]].map(([name, color]) =>
      make("span", { className: "group" }, make("strong", {}, timeText(of(name))), make("span", { className: "help" }, make("span", { className: `key back-${color}` }), name)),
    ),
  );
  const queued = of("queued") ?? 0, running = (of("in_flight") ?? 0) - queued;
  const { slots, capacity } = view.state;
  $("load").textContent = groups(running);
  const busy = running > slots ? `in ${plural(slots, "slot")} or waiting for a batch` : `of ${plural(slots, "slot")} busy`;
  $("load-text").textContent = busy + (capacity ? `, ${groups(queued)} of ${groups(capacity)} waiting` : queued ? `, ${groups(queued)} waiting` : "");
}

function showRecent(recent, ended) {
  const parts = [["amber", "Queue", recent.queue], ["blue", "Model", recent.predict], ["grey", "Server", recent.overhead]];
  if (!recent.count) {
    $("time").replaceChildren(make("p", { className: "help" }, "No prediction ended in the last minute."));
  } else {
    $("time").replaceChildren(
      barOf(parts.map(([color, , seconds]) => [color, seconds])),
      legendOf(parts.map(([color, word, seconds]) => [color, word, timeText(seconds)])),
      make("p", { className: "help" }, `Means of the last minute, ${timeText(recent.total)} in all`),
    );
  }
  const sums = [["good", "Succeeded", "succeeded"], ["bad", "Failed", "failed"], ["busy", "Refused", "refused"], ["grey", "Canceled", "canceled"]];
  const some = sums.filter(([, , name]) => recent[name] > 0 || name === "succeeded");
  const reasons = Object.entries(recent.reasons ?? {}).map(([reason, n]) => `${groups(n)} × ${REASONS[reason] ?? reason}`);
  $("ends").replaceChildren(
    barOf(sums.map(([color, , name]) => [color, recent[name]])),
    legendOf(some.map(([color, word, name]) => [color, word, groups(recent[name] ?? 0)])),
    ...webhooksOf(recent, view.state.webhooks),
    make("p", { className: "help" }, reasons.length ? `Last minute: ${reasons.join(", ")}` : `Last minute; ${plural(ended.succeeded + ended.failed + ended.canceled, "prediction")} since the start`),
  );
  showStreams(recent);
  showBatches(recent);
}

// showStreams shows the pace of streamed items, such as tokens.
function showStreams({ items, first50, first99, next }) {
  if (!items && $("streams-box").hidden) return;
  $("streams-box").hidden = false;
  const facts = [["A second", rateText(items)], ["Time to the first", `${timeText(first50)}, p99 ${timeText(first99)}`], ["Between two", timeText(next)]];
  $("streams").replaceChildren(
    ...(items ? [make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", { className: "number" }, value)]))] : []),
    make("p", { className: "help" }, items ? "Of the last minute" : "None in the last minute"),
  );
}

// webhooksOf returns a line about webhooks if one is pending or was lost.
function webhooksOf({ webhooks: lost }, { pending = 0, retrying = 0 }) {
  const counts = [["blue", "on their way", pending - retrying], ["busy", "tried again", retrying], ["bad", "lost", lost]].filter(([, , n]) => n > 0);
  return counts.length ? [legendOf(counts.map(([color, words, n]) => [color, `Webhooks ${words}`, groups(n)]))] : [];
}

function showBatches(recent) {
  const all = recent.batches ?? [];
  if (!all.length && $("batches-box").hidden) return;
  $("batches-box").hidden = false;
  if (!all.length) return $("batches").replaceChildren(make("p", { className: "help" }, "None in the last minute"));
  $("batches").replaceChildren(...all.flatMap(batchesOf));
}

// batchesOf are the columns of one method's sizes, or of the sizes of batches of predictions.
function batchesOf({ method, count, mean, sizes }) {
  const most = Math.max(...sizes.map(([, n]) => n), 1);
  const columns = sizes.map(([size, n]) => {
    const stick = make("div", { className: "stick" });
    stick.style.height = `${(100 * n) / most}%`;
    return make("div", { title: `${plural(n, "batch").replace("batchs", "batches")} of up to ${size}` }, stick, `≤${size}`);
  });
  const name = method ? `${method}: ` : "";
  const text = count ? `${name}${groups(count)} in the last minute, mean size ${digits(mean)}` : `${name}none in the last minute`;
  return [make("div", { className: "columns" }, ...columns), make("p", { className: "help" }, text)];
}

function showGPUs(gpus) {
  $("gpus-box").hidden = !gpus?.length;
  if (!gpus?.length) return;
  $("gpus").replaceChildren(
    make("div", { className: "meter" }, ...gpus.flatMap((g) => {
      const used = Math.max(0, g.utilization);
      return [make("span", {}, `GPU ${g.name}`), barOf([["blue", used], ["none", 1 - used]]), make("span", { className: "number" }, `${g.utilization < 0 ? NONE : shareText(used)}, ${bytesText(g.memory_used)}`)];
    })),
  );
}
