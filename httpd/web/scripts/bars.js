// Stacked bars: the shares of a whole.

// barOf returns a bar of parts [color, share].
function barOf(parts) {
  const bar = make("div", { className: "bar", "aria-hidden": "true" });
  const all = parts.reduce((sum, [, share]) => sum + (share > 0 ? share : 0), 0);
  for (const [color, share] of parts) {
    if (!(share > 0)) continue;
    const part = make("span", { className: `back-${color}` });
    part.style.flex = `${share / all} 1 0`;
    bar.append(part);
  }
  return bar;
}

const legendOf = (rows) =>
  make("ul", { className: "legend" }, ...rows.map(([color, word, value]) => make("li", {}, make("span", { className: `key back-${color}` }), `${word} `, make("span", { className: "number" }, value))));
