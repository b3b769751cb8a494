// Plotly, late: its 5 MB are compiled, and a chart is drawn, when somebody is about to look.

const charts = new Map(); // key -> {node, figure, stale}
let printing = false;
const PRINTED = { width: 940, tallest: 600 }; // pixels: A4 or letter, lying, between its margins

const watcher = new IntersectionObserver(
  (entries) => {
    const near = entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target.dataset.chart);
    for (const key of near) setTimeout(() => drawChart(key)); // one by one: what is ready is painted first
  },
  { rootMargin: "600px" },
);

/** The library sleeps in an inert element; the policy of the page knows it by its hash. */
function plotly() {
  if (!window.Plotly) {
    document.head.append(make("script", {}, find("#plotly").textContent));
  }
  return window.Plotly;
}

/**
 * The place of a chart, the same node whenever it is asked for by the same key.
 * @param figure gives {data, layout} when it is time to draw
 */
function chart(key, { label, height, figure }) {
  const known = charts.get(key) ?? { node: make("div", { class: "chart", role: "img", data: { chart: key } }) };
  charts.set(key, { ...known, figure, height, stale: true });
  known.node.setAttribute("aria-label", label);
  known.node.style.height = `${height}px`;
  watch(known.node);
  return known.node;
}

function watch(node) {
  watcher.unobserve(node); // watching anew reports once more, also what is in view already
  watcher.observe(node);
}

function drawChart(key) {
  const own = charts.get(key);
  if (!own.stale || !own.node.isConnected) return;
  own.stale = false;
  const { data, layout } = own.figure();
  const options = { displayModeBar: false, responsive: true, doubleClick: "reset" };
  const height = printing ? Math.min(0.85 * own.height, PRINTED.tallest) : own.height;
  own.node.style.height = `${height}px`;
  plotly().react(own.node, data, framed(layout, height), options);
}

/** Everything is out of date: the theme has changed, or the paper is not the screen. */
function redrawCharts() {
  for (const own of charts.values()) {
    own.stale = true;
    if (own.node.isConnected) watch(own.node);
  }
}

function drawAllCharts() {
  for (const [key, own] of charts) {
    own.stale = true;
    drawChart(key);
  }
}

/** A colour as the style sheet has it now; Plotly knows nothing of var(). */
function resolved(colour) {
  const probe = find("#status");
  probe.style.color = colour;
  const text = getComputedStyle(probe).color;
  probe.style.color = "";
  return text;
}

const faint = (rgb, alpha) => rgb.replace(/^rgba?\(([^,]+,[^,]+,[^,)]+).*$/, `rgba($1,${alpha})`);

function framed(layout, height) {
  const ink = resolved("var(--soft)");
  const axis = { gridcolor: resolved("var(--line)"), zeroline: false, linecolor: ink, fixedrange: !finePointer() };
  const joined = (own = {}) => ({ ...axis, ...own, title: { text: own.title ?? "", standoff: 8 } });
  return {
    ...layout,
    height,
    ...(printing ? { width: PRINTED.width } : {}),
    autosize: !printing,
    margin: { l: 62, r: 12, t: 10, b: 46, ...layout.margin },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    hoverlabel: {
      bgcolor: resolved("var(--raised)"),
      bordercolor: resolved("var(--line)"),
      font: { color: resolved("var(--ink)"), size: 12 },
      namelength: -1,
    },
    xaxis: { spikecolor: ink, spikethickness: 1, spikedash: "solid", ...joined(layout.xaxis) },
    yaxis: joined(layout.yaxis),
    showlegend: false,
    dragmode: finePointer() ? "zoom" : false, // on a phone a finger scrolls the page
  };
}

const finePointer = () => matchMedia("(pointer: fine)").matches;

/** What a label says of bands, if any curve has one. */
const withBands = (curves) => (curves.some((curve) => curve?.low) ? ", with 95 % bands" : "");

/** A line and its band, if it has one: two traces. */
function bandTraces(row, x, { mean, low, high }) {
  const style = styleOf(row);
  const colour = resolved(style.colour);
  const line = { color: colour, width: 2, dash: style.dash };
  const label = plotlyText(row.agent);
  const traces = [{ type: "scatter", mode: "lines", name: label, x, y: mean, line, hoverlabel: { namelength: -1 } }];
  if (low && high) {
    const band = { x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()] };
    const fill = { fill: "toself", fillcolor: faint(colour, 0.13), line: { width: 0 }, hoverinfo: "skip" };
    traces.unshift({ type: "scatter", mode: "lines", name: label, ...band, ...fill });
  }
  return traces;
}

// --- which curves are drawn: check boxes that are the legend too

function swatch(row) {
  const { colour, dash } = styleOf(row);
  const patterns = { dash: "6 3", dot: "2 2.5", longdash: "11 3", dashdot: "7 3 2 3", longdashdot: "11 3 2 3" };
  const pattern = patterns[dash] ?? null;
  const line = draw("line", { x1: 0, y1: 5, x2: 26, y2: 5, "stroke-width": 2.5, "stroke-dasharray": pattern });
  line.style.stroke = colour;
  return draw("svg", { width: 26, height: 10, "aria-hidden": "true" }, line);
}

function legend(name, usable) {
  const agents = rows().filter(usable);
  const known = references().filter(usable);
  const part = (list) => make("div", { class: "legend-list" }, list.map((row) => legendItem(name, row)));
  return make(
    "fieldset",
    { class: "legend", data: { legend: name } },
    make("legend", {}, "Agents shown"),
    make(
      "div",
      { class: "row screen" },
      button("Best six", () => showCurves((row) => row.place < SHOWN_AT_FIRST), { data: { key: `${name} six` } }),
      button("All", () => showCurves((row) => row.place !== undefined), { data: { key: `${name} all` } }),
      button("None", () => showCurves(() => false), { data: { key: `${name} none` } }),
    ),
    part(agents),
    known.length ? make("p", { class: "small" }, "References, computed from the world") : null,
    known.length ? part(known) : null,
  );
}

function legendItem(name, row) {
  const box = make("input", {
    type: "checkbox",
    checked: isShown(row),
    data: { key: `${name} shows ${row.key}`, agent: row.key },
    on: { change: (event) => toggleCurve(row, event.target.checked) },
  });
  return make("label", { title: row.agent }, box, swatch(row), make("span", { class: "name" }, row.agent));
}

function toggleCurve(row, shown) {
  state.shown.set(row.key, shown);
  curvesChanged();
}

function showCurves(which) {
  for (const row of [...rows(), ...references()]) state.shown.set(row.key, which(row));
  curvesChanged();
}

function curvesChanged() {
  for (const box of findAll(".legend input")) {
    const row = [...rows(), ...references()].find(({ key }) => key === box.dataset.agent);
    if (row) box.checked = isShown(row);
  }
  redrawCharts();
}
