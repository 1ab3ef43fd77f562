// Charts of the history, as SVG. The pointer and the arrow keys choose a moment, which all charts show.

const history = { columns: [], points: [] }; // a point is a list in the order of columns

const column = (name) => history.columns.indexOf(name);

// valueOf is a point's value: one of the columns, or what follows from them.
const valueOf = (point, name) => (name === "running" ? point[column("in_flight")] - point[column("queued")] : point[column(name)]);
const latest = () => history.points.at(-1);

const MAX_POINTS = 900;
let range = 300; // seconds that are shown, once there are so many
const LEAST_RANGE = 60;
const span = () => Math.min(range, Math.max(LEAST_RANGE, (latest()?.[0] ?? 0) - (history.points[0]?.[0] ?? 0)));
let moment = null; // seconds before the newest point at which the reader looks; null means nowhere

function addPoint(point) {
  history.points.push(point);
  if (history.points.length > MAX_POINTS) history.points.shift();
}

// series are the values of columns over the range, in bins of `bin` seconds: [{at, values}]. A bin's value is the mean, or
// with `worst` the largest, of what there is.
function series(names, worst) {
  const shown = span();
  const bin = Math.max(1, Math.round(shown / 150));
  const end = latest()?.[0] ?? 0;
  const bins = [];
  for (const point of history.points) {
    const age = end - point[0];
    if (age > shown) continue;
    const i = Math.floor(age / bin);
    bins[i] ??= { age: i * bin, all: names.map(() => []) };
    names.forEach((name, k) => valueOf(point, name) !== null && bins[i].all[k].push(valueOf(point, name)));
  }
  const value = (all) => (all.length === 0 ? null : worst ? Math.max(...all) : all.reduce((a, b) => a + b, 0) / all.length);
  return bins.filter(Boolean).map(({ age, all }) => ({ age, values: all.map(value) })).reverse();
}

// pointAtMoment is the point that the reader looks at, or null.
function pointAtMoment() {
  if (moment === null || !latest()) return null;
  const at = latest()[0] - moment;
  return history.points.findLast((point) => point[0] <= at) ?? null;
}

// makeChart makes a chart in a box. `lines` are {name, color, area}; areas lie on each other. options: {worst, log, whole, limit(),
// text(value), read(point), label}.
function makeChart(box, lines, options) {
  const svg = draw("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
  const grid = draw("path", { class: "grid" });
  const shapes = lines.map((l) => draw("path", { class: l.area ? `area fill-${l.color}` : `line line-${l.color}` }));
  const bound = draw("path", { class: "limit" });
  const cross = draw("path", { class: "cross" });
  svg.append(grid, ...shapes, bound, cross);
  const marks = [0, 1, 2, 3, 4].map(() => make("span", { className: "mark y" }));
  const from = make("span", { className: "mark x from" }), to = make("span", { className: "mark x to" }, "now");
  const none = make("p", { className: "none" }, "Nothing yet");
  box.append(svg, ...marks, from, to, none);
  for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": `${options.label} over time`, "aria-valuemin": 0 })) box.setAttribute(name, value);
  watchPointer(box);

  return () => {
    const all = series(lines.map((l) => l.name), options.worst);
    const stacked = lines[0].area;
    const sums = all.flatMap(({ values }) => (stacked ? [values.reduce((a, b) => a + (b ?? 0), 0)] : values.filter((v) => v !== null)));
    none.hidden = sums.some((v) => v > 0);
    const limit = nearLimit(sums, options.limit?.() ?? 0);
    const scale = options.log ? logScale(sums) : linearScale(sums, limit);
    const levels = scale.marks.filter((v) => !options.whole || Number.isInteger(v));
    const shown = span();
    const x = (age) => (100 * (1 - age / shown)).toFixed(2);
    const y = (value) => (100 * (1 - scale.place(value))).toFixed(2);
    grid.setAttribute("d", !none.hidden ? "" : levels.map((v) => `M0,${y(v)}H100`).join(""));
    marks.forEach((mark, i) => {
      const value = levels[i];
      mark.hidden = value === undefined || none.hidden === false;
      if (!mark.hidden) {
        mark.textContent = options.text(value);
        mark.style.top = `calc((100% - 1.25rem) * ${y(value) / 100})`;
      }
    });
    const base = all.map(() => 0);
    const edges = all.map(({ age }, i) => [age, i]);
    if (edges.length === 1) edges.unshift([all[0].age + 1, 0]); // the first second alone
    lines.forEach((line, k) => {
      if (!line.area) {
        shapes[k].setAttribute("d", linePath(all, k, x, y));
        return;
      }
      const under = base.slice();
      all.forEach(({ values }, i) => (base[i] += values[k] ?? 0));
      const top = edges.map(([age, i]) => `${x(age)},${y(base[i])}`);
      const bottom = edges.map(([age, i]) => `${x(age)},${y(under[i])}`).reverse();
      shapes[k].setAttribute("d", base.some((v, i) => v > under[i]) ? `M${top.join("L")}L${bottom.join("L")}Z` : "");
    });
    bound.setAttribute("d", limit && none.hidden ? `M0,${y(limit)}H100` : "");
    cross.setAttribute("d", moment === null || !none.hidden ? "" : `M${x(moment)},0V100`);
    from.textContent = shown < 120 ? `${shown} s ago` : `${Math.floor(shown / 60)} min ago`;
    box.setAttribute("aria-valuemax", shown);
    box.setAttribute("aria-valuenow", shown - (moment ?? 0));
    box.setAttribute("aria-valuetext", readout(options.read));
  };
}

function readout(read) {
  const point = pointAtMoment() ?? latest();
  return point ? `${clockText(point[0] * 1000)}: ${read((name) => valueOf(point, name))}` : "nothing yet";
}

// linePath leaves gaps where there is no value. A value alone is a dot.
function linePath(all, k, x, y) {
  let path = "", drawn = false;
  for (const { age, values } of all) {
    if (values[k] === null) {
      drawn = false;
      continue;
    }
    path += `${drawn ? "L" : "M"}${x(age)},${y(values[k])}`;
    if (!drawn) path += "h0.01";
    drawn = true;
  }
  return path;
}

// nearLimit is the limit, if the values come near enough for it to be shown with them.
const nearLimit = (values, limit) => (Math.max(...values, 0) > limit / 4 ? limit : 0);

// linearScale begins at 0 and ends above all values.
function linearScale(values, limit) {
  const most = Math.max(...values, limit, 1e-9);
  const unit = 10 ** Math.floor(Math.log10(most));
  const top = [1, 2, 2.5, 5, 10].map((n) => n * unit).find((n) => n >= most * 0.999);
  return { place: (value) => (value / top) * 0.96, marks: [top, top / 2] };
}

// logScale spans whole powers of ten.
function logScale(values) {
  const some = values.filter((v) => v > 0);
  const low = Math.floor(Math.log10(Math.min(...some, 1e9))), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...some, 1e-9)) - 1e-9));
  const stride = Math.ceil((high - low) / 4);
  const marks = Array.from({ length: Math.floor((high - low) / stride) + 1 }, (_, i) => high - i * stride);
  return { place: (value) => 0.02 + 0.94 * Math.max(0, (Math.log10(value) - low) / (high - low)), marks: marks.map((power) => 10 ** power) };
}

function watchPointer(box) {
  const look = (seconds) => {
    moment = seconds === null ? null : Math.min(span(), Math.max(0, Math.round(seconds)));
    renderCharts();
  };
  box.addEventListener("pointermove", (e) => {
    const { left, width } = box.querySelector("svg").getBoundingClientRect();
    look(span() * (1 - (e.clientX - left) / width));
  });
  box.addEventListener("pointerleave", () => look(null));
  box.addEventListener("blur", () => look(null));
  box.addEventListener("keydown", (e) => {
    const step = Math.max(1, span() / (e.shiftKey ? 10 : 150));
    if (e.key === "ArrowLeft") look((moment ?? -step) + step);
    else if (e.key === "ArrowRight") look((moment ?? step) - step);
    else if (e.key === "Home") look(span());
    else if (e.key === "End") look(0);
    else if (e.key === "Escape") look(null);
    else return;
    e.preventDefault();
  });
}
