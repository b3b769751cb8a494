// The cells of the rank table.

const WHISKER = { width: 124, height: 18, pad: 5 };

function worldCell(own) {
  const { estimate, low, high } = triple(own?.normalised);
  return make("span", { title: range(low, high, (x) => fixed(x, 3)) || null }, fixed(estimate, 2));
}

function pickBox(row) {
  const place = state.pair.indexOf(row.key);
  return make("input", {
    type: "checkbox",
    "aria-label": `Compare ${row.agent}`,
    title: "Compare two rows: tick both",
    checked: place >= 0,
    data: { key: `pick ${row.key}` },
    on: { change: (event) => pick(row, event.target.checked) },
  });
}

function agentCell(row) {
  const open = state.open.has(row.key);
  const name = make(
    "button",
    {
      type: "button",
      class: "agent-name",
      title: row.agent,
      "aria-expanded": String(open),
      data: { key: `open ${row.key}` },
      on: { click: () => toggleRow(row.key) },
    },
    make("span", { class: "chevron", "aria-hidden": "true" }, "›"),
    make("span", { class: "name" }, row.agent),
  );
  if (row.complete !== false) return [name];
  const why = row.only ? "Left out of other worlds by its own word" : "Not run in every world";
  const mark = { class: "partial", title: `${why}: no rank over all of them` };
  return [name, make("span", mark, row.only ?? "incomplete")];
}

const tierOrder = (row) => (TIERS.includes(row.tier) ? TIERS.indexOf(row.tier) : null);

/** Four steps, filled as far as the row was checked: colour alone says nothing to some. */
function tierBadge(row) {
  if (!row.tier) return NOTHING;
  const strength = TIERS.length - TIERS.indexOf(row.tier);
  const steps = TIERS.map((_, i) => make("i", { class: i < strength ? "full" : null }));
  const meter = make("span", { class: "steps", "aria-hidden": "true" }, steps);
  return make("span", { class: `tier tier-${strength}`, title: TIER_TEXTS[row.tier] }, meter, row.tier);
}

function withInterval(values, write) {
  const { estimate, low, high } = triple(values);
  const interval = range(low, high, write);
  return make("span", { class: "measure" }, make("b", {}, write(estimate)), make("small", {}, interval));
}

/** A number as its column declares it. */
function valueCell(row, { key, digits, interval }) {
  const write = (x) => fixed(x, digits);
  return interval ? withInterval(row[key], write) : write(row[key]);
}

function regretCell(row, scale) {
  if (!row.normalised) return NOTHING;
  const numbers = withInterval(row.normalised, (x) => fixed(x, 3));
  return make("span", { class: "regret" }, numbers, whisker(triple(row.normalised), scale));
}

/** From 0, or below, to where most rows end; a row beyond it is cut, with an arrow. */
function whiskerScale() {
  const ends = rows().flatMap(({ normalised }) => (normalised ?? []).filter(isNumber));
  const low = Math.min(0, ...ends);
  const high = Math.max(Math.min(Math.max(...ends, 0), 1.5), 0.1);
  const { width, pad } = WHISKER;
  const place = (x) => pad + ((x - low) / (high - low)) * (width - 2 * pad);
  return { place: (x) => Math.max(pad, Math.min(width - pad, place(x))), low, high };
}

function whisker({ estimate, low, high }, { place, low: first, high: last }) {
  const { width, height } = WHISKER;
  const y = height / 2;
  const parts = [0, 1] // the oracle and choosing at random
    .filter((mark) => mark >= first && mark <= last)
    .map((mark) => draw("line", { class: "mark", x1: place(mark), x2: place(mark), y1: 1, y2: height - 1 }));
  const long = Math.max(0, place(estimate) - place(0));
  parts.push(draw("rect", { class: "amount", x: place(0), y: y - 4, width: long, height: 8 }));
  if (isNumber(low) && isNumber(high))
    parts.push(draw("line", { class: "interval", x1: place(low), x2: place(high), y1: y, y2: y }));
  parts.push(
    estimate > last
      ? draw("path", { class: "dot", d: `M${width - 7} ${y - 4} L${width} ${y} L${width - 7} ${y + 4}Z` })
      : draw("circle", { class: "dot", cx: place(estimate), cy: y, r: 3.5 }),
  );
  return draw("svg", { class: "whisker", width, height, "aria-hidden": "true" }, ...parts);
}
