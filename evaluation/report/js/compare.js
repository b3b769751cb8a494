// Two rows, paired on the same worlds and the same noise.

const FOREST = { width: 240, height: 22, pad: 8 };

function pick(row, chosen) {
  const free = state.pair.filter((key) => key !== row.key && key !== null);
  // A third choice takes the place of the older one.
  state.pair = chosen ? [free[free.length - 1] ?? null, row.key] : [free[0] ?? null, null];
  pairChanged();
}

function choosePair(place, key) {
  const other = state.pair[1 - place];
  state.pair[1 - place] = other === key ? state.pair[place] : other; // the same one twice: swap
  state.pair[place] = key;
  pairChanged();
}

function pairChanged() {
  drawRanking();
  keepingFocus(drawCompare);
  announce(verdictText(overallCell()));
}

const chosenRows = () => state.pair.map((key) => rows().find((row) => row.key === key) ?? null);

function overallCell() {
  const [a, b] = chosenRows();
  return a && b ? pairCell(board().pairs?.all, a.place, b.place) : null;
}

function drawCompare() {
  const section = find("#compare");
  section.hidden = rows().length < 2;
  const [a, b] = chosenRows();
  section.replaceChildren(
    make("h2", { id: "compare-title" }, "Compare two"),
    make(
      "div",
      { class: "bar screen" },
      rowSelect("First", 0),
      button("Swap", () => ((state.pair = [state.pair[1], state.pair[0]]), pairChanged()), { data: { key: "swap" } }),
      rowSelect("Second", 1),
      make("span", { class: "downloads" }, pairsButton()),
    ),
    ...(a && b ? comparison(a, b) : [make("p", { class: "lead" }, "Choose two rows, here or in the ranking.")]),
  );
}

const pairsButton = () => button("Pairs CSV", () => download("pairs", pairLines()), { id: "csv-pairs" });

function rowSelect(label, place) {
  const chosen = state.pair[place];
  const options = rows().map((row) => make("option", { value: row.key, selected: row.key === chosen }, row.agent));
  const none = chosen === null ? [make("option", { value: "", selected: true, disabled: true }, "choose")] : [];
  const select = make(
    "select",
    { data: { key: `pair ${place}` }, on: { change: (event) => choosePair(place, event.target.value) } },
    none,
    options,
  );
  return make("label", { class: "field" }, make("span", {}, label), select);
}

/** -1: the first is better, 1: the second is, 0: the interval holds zero, null: not known. */
function verdict(cell) {
  if (cell === null || !isNumber(cell.low) || !isNumber(cell.high)) return null;
  return cell.high < 0 ? -1 : cell.low > 0 ? 1 : 0;
}

function verdictText(cell) {
  const [a, b] = chosenRows();
  if (!a || !b) return "";
  const said = verdict(cell);
  if (cell === null) return "Over all worlds these two cannot be compared.";
  if (said === null) return `Over all worlds there are too few runs to tell ${a.agent} and ${b.agent} apart.`;
  if (said === 0) return `Over all worlds no clear difference between ${a.agent} and ${b.agent}.`;
  return `Over all worlds ${said < 0 ? a.agent : b.agent} is better than ${said < 0 ? b.agent : a.agent}.`;
}

function comparison(a, b) {
  const names = shortNames(envNames());
  const lines = board().envs.map((env, k) => ({
    name: names[k],
    title: env.name,
    cell: pairCell(board().pairs?.envs?.[k], a.place, b.place),
    unit: unitOf(a.envs[k]?.regret, b.envs[k]?.regret),
  }));
  const unit = unitOf(a.normalised, b.normalised);
  const all = { name: "All worlds, normalised", cell: overallCell(), unit, all: true };
  return [make("p", { class: "lead" }, verdictText(all.cell)), tally(lines), forestTable(a, b, [all, ...lines])];
}

function tally(lines) {
  const count = (wanted) => lines.filter(({ cell }) => verdict(cell) === wanted).length;
  const few = lines.filter(({ cell }) => cell !== null && verdict(cell) === null).length;
  const worlds =
    `the first is better in ${count(-1)}, the second in ${count(1)}, not clear in ${count(0)}` +
    (few ? `, too few runs in ${few}` : "");
  const sign = "Differences are first minus second: below zero the first loses less.";
  return make("p", { class: "small" }, `World by world: ${worlds}. ${sign}`);
}

/** Worlds have regrets of different sizes: the drawing divides by the mean regret of the two. */
function unitOf(first, second) {
  const [x, y] = [first?.[0], second?.[0]];
  return isNumber(x) && isNumber(y) && x + y > 0 ? (x + y) / 2 : null;
}

function forestTable(a, b, lines) {
  const scale = forestScale(lines);
  const titles = ["World", "Difference", "95 % interval", "p", forestHead(), "Better"];
  const head = titles.map((title, i) => make("th", { scope: "col", class: i === 4 ? "c-forest" : null }, title));
  const body = lines.map((line) => forestRow(a, b, line, scale));
  const label = `Regret of ${a.agent} minus regret of ${b.agent}, world by world`;
  return scrollingTable(label, { id: "pairs", class: "numbers" }, head, body);
}

function forestHead() {
  const sides = ["← first is better", "second is better →"].map((side) => make("span", {}, side));
  return make("span", { class: "sides", title: "Relative to the mean regret of the two" }, sides);
}

function forestRow(a, b, { name, title, cell, unit, all }, scale) {
  const said = verdict(cell);
  const write = alike(Object.values(cell ?? {}).slice(0, 3));
  const better = { "-1": a.agent, 1: b.agent, 0: "not clear", null: cell ? "too few runs" : NOTHING }[said];
  return make(
    "tr",
    { class: all ? "total" : null },
    make("th", { scope: "row", title }, name),
    make("td", {}, signed(cell?.difference, write)),
    make("td", {}, range(cell?.low, cell?.high, (x) => signed(x, write)) || NOTHING),
    make("td", {}, pValue(cell?.p)),
    make("td", { class: "c-forest" }, cell && unit ? forestDrawing(cell, unit, scale) : NOTHING),
    make("td", { class: said ? "better" : "small" }, make("span", { class: "name" }, better)),
  );
}

function forestScale(lines) {
  const ends = lines.flatMap(({ cell, unit }) =>
    cell && unit ? [cell.low, cell.high, cell.difference].filter(isNumber).map((x) => Math.abs(x / unit)) : [],
  );
  const most = Math.min(2, Math.max(0.1, ...ends)); // of regrets, relative differences end at 2
  const { width, pad } = FOREST;
  return (x) => Math.max(pad, Math.min(width - pad, width / 2 + (x / most) * (width / 2 - pad)));
}

function forestDrawing({ difference, low, high }, unit, scale) {
  const { width, height } = FOREST;
  const y = height / 2;
  const parts = [draw("line", { class: "mark", x1: scale(0), x2: scale(0), y1: 0, y2: height })];
  if (isNumber(low) && isNumber(high))
    parts.push(draw("line", { class: "interval", x1: scale(low / unit), x2: scale(high / unit), y1: y, y2: y }));
  parts.push(draw("circle", { class: "dot", cx: scale(difference / unit), cy: y, r: 4 }));
  const said = verdict({ low, high });
  const kind = said ? (said < 0 ? "first" : "second") : "unclear";
  return draw("svg", { class: `forest ${kind}`, width, height, "aria-hidden": "true" }, ...parts);
}
