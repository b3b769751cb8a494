(() => {
"use strict";

// --- document. Strings become text nodes, never HTML, because names are untrusted.

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Return an element. `on` contains its listeners and `data` its dataset; other keys are attributes. */
function make(tag, { on = {}, data = {}, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  Object.assign(node.dataset, data);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Return the lines of a definition list for facts [[name, value], ...]. */
const definitions = (facts) =>
  facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "")));

/** Redraw and keep the keyboard focus: the focused element is found again by its data-key. */
function keepingFocus(redraw) {
  const key = document.activeElement?.dataset?.key;
  redraw();
  if (key === undefined || document.activeElement?.dataset?.key === key) return;
  findAll("[data-key]").find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
}

// --- numbers and names

const NOTHING = "–";
const MINUS = "\u2212";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const list = (value) => (Array.isArray(value) ? value : [value]);

function fixed(value, digits) {
  if (!isNumber(value)) return NOTHING;
  const figures = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const text = Math.abs(value).toLocaleString("en", figures);
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

const signed = (value, digits) => (value > 0 ? "+" : "") + fixed(value, digits);

function range(low, high, write) {
  return isNumber(low) && isNumber(high) ? `[${write(low)}, ${write(high)}]` : "";
}

/** Return the number of decimals that shows about three significant digits of the largest value. */
function decimals(values) {
  const size = Math.max(0, ...values.filter(isNumber).map(Math.abs));
  return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
}

const pValue = (value) => (isNumber(value) && value < 0.001 ? "<0.001" : fixed(value, 3));

/** Return short names ("RideShare" for "PeriodicGP-RideShare-v0"), unless they are ambiguous. */
function shortNames(names) {
  const shorter = names.map((name) => name.replace("PeriodicGP-", "").replace(/-v\d+/, ""));
  return new Set(shorter).size === names.length ? shorter : names;
}

/** Return a text for Plotly, whose labels interpret some HTML and %{} fields. */
function plotlyText(text) {
  const entity = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "%": "&#37;" };
  const cut = text.length > 28 ? `${text.slice(0, 27)}…` : text;
  return cut.replace(/[&<>"'%]/g, (character) => entity[character]);
}

/** Return the text as a web address, else null, so that "javascript:" never becomes a link. */
function webAddress(text) {
  if (typeof text !== "string" || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  return new URL(text).href;
}

// --- state: the content, and the choices of the reader

const SHOWN_AT_FIRST = 6;
const INK = "#000000"; // curves in black have the colour of the text, which is white on a dark page
const EMPTY = { title: "", columns: [], world_columns: [], envs: [], thresholds: [], rows: [], references: [] };

const { boards } = JSON.parse(find("#content").textContent);
const state = {
  world: null, // name
  pair: [null, null], // names
  open: new Set(), // names of agents whose facts are shown
  sorts: { ranking: { key: "rank", up: true }, numbers: { key: "regret", up: true } }, // by table
  numbers: false, // whether the numbers of a world are shown
};

const board = () => boards[find("#board-choice").value] ?? EMPTY;
const rows = () => board().rows;
const worldNames = () => board().envs.map(({ name }) => name);

/** Return the two rows to compare: those that the reader chose, else the best other agents. */
function pair() {
  const keys = rows().map(({ agent }) => agent);
  const chosen = state.pair.map((key) => (keys.includes(key) ? key : null));
  for (const i of [0, 1]) chosen[i] ??= keys.find((key) => !chosen.includes(key)) ?? null;
  state.pair = chosen;
  return chosen.map((key) => rows().find((row) => row.agent === key) ?? null);
}

// --- tables, sorted by their headings

/**
 * Return a table. Columns are {key, label, title, value, cell, className, shade}: rows are sorted by
 * `value`, and `cell` is displayed. `after` returns additional lines below a row.
 */
function dataTable(name, columns, data, { label, rowClass = () => null, after = () => [] }) {
  const sort = state.sorts[name];
  const head = columns.map((column) => heading(name, column, sort));
  const body = sorted(data, columns, sort).flatMap((row) => [
    make("tr", { class: rowClass(row) }, columns.map((column, i) => tableCell(row, column, i))),
    ...after(row),
  ]);
  const table = make(
    "table",
    { id: `table-${name}` },
    make("caption", { class: "unseen" }, label),
    make("thead", {}, make("tr", {}, head)),
    make("tbody", {}, body),
  );
  const scroller = make("div", { class: "scroller", role: "region", "aria-label": label, tabindex: "0" }, table);
  const click = () => save(`${name}.csv`, csvText(columns, data));
  return make("div", {}, scroller, make("button", { type: "button", class: "control", data: { key: `csv ${name}` }, on: { click } }, "Save as CSV"));
}

function heading(name, column, sort) {
  const { key, label, title } = column;
  const chosen = sort?.key === key;
  const click = () => {
    state.sorts[name] = { key, up: chosen ? !sort.up : true };
    draw();
  };
  const arrow = make("span", { class: "arrow", "aria-hidden": "true" }, chosen ? (sort.up ? "▲" : "▼") : "");
  const inside = column.value
    ? make("button", { type: "button", class: "sort", title, data: { key: `sort ${name} ${key}` }, on: { click } }, label, arrow)
    : label;
  const direction = chosen ? (sort.up ? "ascending" : "descending") : null;
  return make("th", { scope: "col", class: column.className, "aria-sort": direction }, inside);
}

/** Return the rows sorted by the chosen column; rows without a value are last in both directions. */
function sorted(data, columns, sort) {
  const value = columns.find(({ key }) => key === sort?.key)?.value;
  if (!value) return data;
  const sign = sort.up ? 1 : -1;
  const missing = (x) => x === null || x === undefined;
  return [...data].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  });
}

function tableCell(row, column, place) {
  const tag = place === 0 || column.isName ? "th" : "td";
  const node = make(tag, { scope: tag === "th" ? "row" : null, class: column.className }, column.cell(row));
  const shade = column.shade?.(row);
  if (isNumber(shade)) node.style.setProperty("--shade", `${(40 * shade).toFixed(1)}%`);
  return node;
}

/** Return a column of numbers, with or without intervals, from its definition in Python. */
function valueColumn({ key, label, title, digits, interval }, own = (row) => row) {
  const numbers = (row) => list(own(row)?.[key] ?? null);
  const write = (x) => fixed(x, digits);
  const cell = (row) => {
    const [estimate, low, high] = numbers(row);
    return [write(estimate), interval ? make("small", {}, range(low, high, write)) : null];
  };
  const values = (row) => [0, 1, 2].map((i) => numbers(row)[i]);
  return { key, label, title, value: (row) => numbers(row)[0] ?? null, cell, ...(interval ? { values } : {}) };
}

/** Return the sortable columns as CSV; `values` returns an estimate and the bounds of its interval. */
function csvText(columns, data) {
  const saved = columns.filter(({ value }) => value);
  const head = saved.flatMap(({ key, values }) => (values ? [key, `${key}_low`, `${key}_high`] : [key]));
  const lines = data.map((row) => saved.flatMap(({ value, values }) => values?.(row) ?? [value(row)]));
  return [head, ...lines].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

/** Return a CSV cell. Text that a spreadsheet would interpret as a formula gets an apostrophe. */
function csvCell(value) {
  if (typeof value !== "string") return String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// --- charts

const charts = new Map(); // key -> {node, figure}

/** Return the element of a chart, the same for each call with a key; `figure` returns {data, layout}. */
function chart(key, label, figure) {
  const node = charts.get(key)?.node ?? make("div", { class: "chart", role: "img", data: { chart: key } });
  node.setAttribute("aria-label", label);
  charts.set(key, { node, figure });
  return make("figure", {}, node);
}

/** Draw the charts. Plotly is loaded after this script, so this function is also called on load. */
function drawCharts() {
  if (!window.Plotly) {
    find("#missing").hidden = document.readyState !== "complete";
    return;
  }
  for (const [key, { node, figure }] of charts) {
    if (!node.isConnected) continue;
    const { data, layout } = figure();
    Plotly.react(node, data, framed(key, layout), { displayModeBar: false, responsive: true });
  }
}

/** Return the current value of a colour of the style sheet; Plotly does not support var(). */
function resolved(colour) {
  const probe = find("#count");
  probe.style.color = colour;
  const text = getComputedStyle(probe).color;
  probe.style.color = "";
  return text;
}

function framed(key, { xaxis, yaxis, ...layout }) {
  const phone = matchMedia("(pointer: coarse)").matches; // on touch screens, dragging scrolls the page
  const axis = { gridcolor: resolved("var(--line)"), zerolinecolor: resolved("var(--line)"), fixedrange: phone };
  return {
    uirevision: key, // curves that the reader has hidden stay hidden
    margin: { l: 62, r: 12, t: 10, b: 46 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: resolved("var(--soft)") },
    hoverlabel: { bgcolor: resolved("var(--raised)"), font: { color: resolved("var(--ink)") }, namelength: -1 },
    legend: innerWidth < 700 ? { orientation: "h", y: -0.2, yanchor: "top", maxheight: 0.4 } : {},
    dragmode: phone ? false : "zoom",
    ...layout,
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, ...yaxis },
  };
}

/** Return a line and its band, if any; the legend shows or hides both. */
function curveTraces(row, { x, mean, low, high }) {
  const [look, dash] = row.look ?? ["var(--muted)", "dashdot"];
  const colour = resolved(look === INK ? "var(--ink)" : look);
  const shared = {
    type: "scatter",
    mode: "lines",
    name: plotlyText(row.agent),
    legendgroup: row.agent,
    visible: rows().slice(0, SHOWN_AT_FIRST).includes(row) || "legendonly",
  };
  const line = { ...shared, x, y: mean, line: { color: colour, width: 2, dash } };
  if (!low || !high) return [line];
  const outline = { x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()] };
  const fill = { fill: "toself", fillcolor: colour, opacity: 0.13, line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  return [{ ...shared, ...outline, ...fill }, line];
}

const CURVES_HELP = "Click a name to show or hide its curve; double-click to show only this curve.";

/** Return a chart of the rows that have a curve; `curve` returns the {x, mean, low, high} of a row. */
function curveChart(key, title, [x, y], data, curve) {
  const shown = data.map((row) => [row, curve(row)]).filter(([, { mean }]) => mean?.some(isNumber));
  const figure = () => ({
    data: shown.flatMap(([row, own]) => curveTraces(row, own)),
    layout: {
      xaxis: { title: { text: x } },
      yaxis: { title: { text: y }, rangemode: "tozero", hoverformat: ",.4~r" },
      hovermode: "closest",
      showlegend: true,
    },
  });
  const label = `${title || "Profiles"}: ${y} by ${x}`;
  return shown.length ? make("div", {}, title ? make("h3", {}, title) : "", chart(`${key} ${board().title}`, label, figure)) : "";
}

// --- ranking

const HELP =
  "Lower values are better: 0 is the oracle, and 1 is choosing at random. In the column of a world, darker cells " +
  "are better. Click the name of an agent to show its provenance.";

function drawRanking() {
  const visible = rows().filter(passes);
  const [first, ...numbers] = board().columns.map((column) => valueColumn(column));
  const names = shortNames(worldNames());
  const columns = [
    { key: "rank", label: "#", title: "Rank", value: (row) => row.rank, cell: (row) => String(row.rank ?? NOTHING) },
    { key: "agent", label: "Agent", value: (row) => row.agent, cell: agentCell, className: "name", isName: true },
    ...(first ? [first] : []),
    ...(rows().some(({ tier }) => tier) ? [tierColumn] : []), // the results of a store are not verified
    ...numbers,
    ...board().envs.map((world, k) => worldColumn(world, names[k], k)),
  ];
  const after = (row) => (state.open.has(row.agent) ? [detailRow(row, columns.length)] : []);
  const label = `${board().title}: agents by rank`;
  const text = rows().length ? "No agents match the filter." : "No agents on this board yet.";
  find("#ranking").replaceChildren(
    make("h2", {}, "Ranking"),
    visible.length
      ? dataTable("ranking", columns, visible, { label, after, rowClass: () => "agent" })
      : make("p", { class: "empty" }, text),
    make("p", { class: "small" }, HELP),
  );
  find("#count").textContent = `${visible.length} of ${rows().length} agents`;
}

const tierColumn = { key: "tier", label: "Trust", title: "Verification tier of the submission", value: (row) => row.tier, cell: (row) => row.tier ?? NOTHING };

function worldColumn(world, label, k) {
  const title = `${world.name}${simulated(world)}: normalised regret`;
  const column = valueColumn({ key: "normalised", label, title, digits: 2 }, (row) => row.envs[k]);
  const known = rows().map(column.value).filter(isNumber).sort((a, b) => a - b);
  const best = known[0];
  const dull = known[Math.floor(0.75 * (known.length - 1))]; // cells with this value or a larger value are not shaded
  const part = (value) => (isNumber(value) && dull > best ? Math.max(0, (dull - value) / (dull - best)) : null);
  return { ...column, key: world.name, shade: (row) => part(column.value(row)), className: "shaded" };
}

function passes(row) {
  const text = `${row.agent} ${row.authors} ${row.tier ?? ""}`.toLowerCase();
  return text.includes(find("#filter").value.trim().toLowerCase());
}

function agentCell(row) {
  const open = state.open.has(row.agent);
  const click = () => {
    if (!state.open.delete(row.agent)) state.open.add(row.agent);
    draw();
  };
  const attributes = { type: "button", class: "agent-name", title: row.agent, "aria-expanded": String(open) };
  const name = make("button", { ...attributes, data: { key: `open ${row.agent}` }, on: { click } }, row.agent);
  const title = "Not ranked: the agent has no finished run in some worlds";
  return row.rank === null ? [name, make("small", { class: "warning", title }, "incomplete")] : name;
}

function detailRow(row, width) {
  const address = webAddress(row.link);
  const link = address ? make("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, row.link) : row.link;
  const facts = [["Authors", row.authors || NOTHING], ["Link", link || NOTHING], ...row.provenance];
  return make("tr", { class: "details" }, make("td", { colspan: width }, make("dl", { class: "facts" }, definitions(facts))));
}

// --- worlds

const simulated = (world) => (world.simulated ? ", simulated" : "");

function select(label, key, options, chosen, choose) {
  const change = ({ target }) => {
    choose(target.value);
    draw();
  };
  const nodes = options.map(([value, text]) => make("option", { value, selected: value === chosen }, text));
  return make("label", { class: "field" }, label, make("select", { data: { key }, on: { change } }, nodes));
}

function drawWorlds() {
  const section = find("#worlds");
  section.hidden = board().envs.length === 0;
  if (section.hidden) return;
  const k = Math.max(0, worldNames().indexOf(state.world));
  const world = board().envs[k];
  const names = shortNames(worldNames());
  const every = [...board().references, ...rows()];
  const options = board().envs.map((own, i) => [own.name, names[i] + simulated(own)]);
  section.replaceChildren(
    make("h2", {}, "Worlds"),
    make("div", { class: "bar" }, select("World", "world", options, world.name, (name) => (state.world = name))),
    aboutWorld(world),
    curveChart(`curves ${world.name}`, `Regret over time${simulated(world)}`, ["step t", "mean cumulative regret"], every, (row) => ({
      x: world.t,
      ...row.envs[k]?.curve,
    })),
    make("p", { class: "small" }, CURVES_HELP),
    curveChart(`phases ${world.name}`, `Regret by phase${simulated(world)}`, ["phase of the season", "mean regret per step"], every, (row) => ({
      x: row.envs[k]?.by_phase?.map((_, i, { length }) => ((i + 0.5) * (world.period ?? length)) / length),
      mean: row.envs[k]?.by_phase,
    })),
    worldNumbers(world, k),
  );
}

function aboutWorld(world) {
  const facts = [
    ["Runs", String(world.runs)],
    ["Steps", world.t.length ? fixed(world.t.at(-1) - world.t[0] + 1, 0) : NOTHING],
    ["Season", isNumber(world.period) ? `${Number(world.period.toFixed(2))} steps` : "none or variable"],
  ];
  const text = make("div", {}, make("h3", {}, world.name + simulated(world)), make("p", {}, world.about), make("dl", { class: "facts" }, definitions(facts)));
  if (!world.picture) return text;
  const alt = `The world ${world.name}: mean reward of each action over time`;
  return make("div", { class: "about" }, make("img", { src: world.picture, alt, class: "picture" }), text);
}

function worldNumbers(world, k) {
  const data = [...rows(), ...board().references].filter((row) => row.envs[k]);
  const columns = [nameColumn, ...board().world_columns.map((column) => valueColumn(column, (row) => row.envs[k]))];
  const rowClass = (row) => (row.look ? null : "reference");
  const toggle = ({ target }) => (state.numbers = target.open);
  return make(
    "details",
    { open: state.numbers, on: { toggle } },
    make("summary", { data: { key: "numbers" } }, "Table of numbers, including references"),
    dataTable("numbers", columns, data, { label: `Regret in ${world.name}`, rowClass }),
  );
}

const nameColumn = { key: "agent", label: "Agent", value: (row) => row.agent, cell: (row) => row.agent, className: "name" };

// --- comparison of two agents in the same worlds with the same noise

/** Return the difference between two rows, or null if they have no common runs. */
function pairCell(table, first, second) {
  const [i, j] = [first, second].map(({ agent }) => table?.agents.indexOf(agent));
  const at = (name) => table?.[name]?.[i]?.[j] ?? null;
  const cell = { difference: at("difference"), low: at("low"), high: at("high"), p: at("p") };
  return isNumber(cell.difference) ? cell : null;
}

/** Return -1 if the first agent is better, 1 if the second is, 0 if neither is, null if unknown. */
function verdict(cell) {
  if (!isNumber(cell?.low) || !isNumber(cell?.high)) return null;
  return cell.high < 0 ? -1 : cell.low > 0 ? 1 : 0;
}

function drawCompare() {
  const section = find("#compare");
  section.hidden = rows().length < 2;
  const [a, b] = pair();
  if (section.hidden || !a || !b) return;
  const options = rows().map((row) => [row.agent, row.agent]);
  const choose = (place) => (key) => {
    if (state.pair[1 - place] === key) state.pair.reverse();
    state.pair[place] = key;
  };
  const names = shortNames(worldNames());
  const worlds = board().envs.map((world, k) => ({
    name: names[k],
    cell: pairCell(board().pairs.envs[k], a, b),
  }));
  const cell = pairCell(board().pairs.all, a, b);
  const lines = [{ name: "All worlds, normalised", cell }, ...worlds];
  const better = ({ cell: own }) => ({ "-1": a.agent, 1: b.agent, 0: "neither (not significant)", null: own ? "too few runs" : NOTHING })[verdict(own)];
  const label = `Regret of ${a.agent} minus regret of ${b.agent}, world by world`;
  section.replaceChildren(
    make("h2", {}, "Compare two agents"),
    make("div", { class: "bar" }, [0, 1].map((i) => select(["First", "Second"][i], `pair ${i}`, options, state.pair[i], choose(i)))),
    make("p", { id: "verdict", role: "status" }, `Over all worlds, better: ${better(lines[0])}.`),
    dataTable("pairs", pairColumns(better), lines, { label }),
    make("p", { class: "small" }, "A difference is the regret of the first agent minus the regret of the second: negative values favour the first."),
  );
}

function pairColumns(better) {
  const digits = ({ cell }) => decimals([cell?.difference, cell?.low, cell?.high]);
  const interval = (line) => range(line.cell?.low, line.cell?.high, (x) => signed(x, digits(line))) || NOTHING;
  return [
    { key: "world", label: "World", value: ({ name }) => name, cell: ({ name }) => name, className: "name" },
    { key: "difference", label: "Difference", value: ({ cell }) => cell?.difference, values: ({ cell }) => [cell?.difference, cell?.low, cell?.high], cell: (line) => signed(line.cell?.difference, digits(line)) },
    { key: "interval", label: "95 % interval", cell: interval },
    { key: "p", label: "p", value: ({ cell }) => cell?.p, cell: ({ cell }) => pValue(cell?.p) },
    { key: "better", label: "Better", value: better, cell: better, className: "name" },
  ];
}

// --- over all worlds

function drawProfiles() {
  const section = find("#profiles");
  section.hidden = !rows().some(({ profile }) => profile);
  const text = "A curve is the share of runs in all worlds with a score above s (1 is the oracle, 0 is choosing at random). Higher curves are better.";
  const curve = ({ profile }) => ({ x: board().thresholds, ...profile });
  section.replaceChildren(
    make("h2", {}, "Performance profiles"),
    curveChart("profiles", "", ["score s", "share of runs above s"], rows(), curve),
    make("p", { class: "small" }, `${text} ${CURVES_HELP}`),
  );
}

// --- the page

function draw() {
  keepingFocus(() => {
    drawRanking();
    drawWorlds();
    drawCompare();
    drawProfiles();
  });
  drawCharts();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  find("#theme").textContent = isDark() ? "Light" : "Dark";
  find("#theme").hidden = false;
}

setTheme();
find("#page").hidden = false;
find("#filter").addEventListener("input", draw);
find("#board-choice").addEventListener("change", draw);
find("#theme").addEventListener("click", () => (setTheme(isDark() ? "light" : "dark"), draw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (setTheme(), draw()));
addEventListener("load", drawCharts);
draw();
})();
