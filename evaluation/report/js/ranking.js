// The rank table: sorted, filtered, each row with its provenance.

const WHISKER = { width: 124, height: 18, pad: 5 };

function buildRanking() {
  const filter = make("input", {
    type: "search",
    id: "filter",
    placeholder: "agent or author",
    autocomplete: "off",
    on: { input: (event) => ((state.text = event.target.value), drawRanking()) },
  });
  find("#ranking").replaceChildren(
    make("h2", { id: "ranking-title" }, "Ranking"),
    make(
      "div",
      { class: "bar screen" },
      make("label", { class: "field", for: "filter" }, make("span", {}, "Filter"), filter),
      make("fieldset", { class: "chips", id: "tiers" }),
      make("span", { id: "count", class: "small", "aria-live": "polite" }),
      make(
        "span",
        { class: "downloads" },
        button("Ranking CSV", () => download("ranking", rankingLines()), { id: "csv-ranking" }),
        button("Worlds CSV", () => download("worlds", worldLines()), { id: "csv-worlds" }),
      ),
    ),
    make(
      "div",
      { class: "scroller", role: "region", "aria-labelledby": "ranking-title", tabindex: "0" },
      make("table", { id: "ranks" }, make("caption", { class: "unseen" }), make("thead"), make("tbody")),
    ),
    make("div", { id: "ranking-help", class: "small help" }),
  );
  find("#ranks tbody").addEventListener("click", clickRow);
}

function drawRanking() {
  keepingFocus(() => {
    const all = columns();
    const visible = sorted(rows().filter(passes), all);
    find("#ranks caption").textContent = `${board().title}: agents by rank; column headings sort`;
    find("#ranks thead").replaceChildren(make("tr", {}, make("th", { class: "pick screen" }, unseen("Compare")), all.map(heading)));
    find("#ranks tbody").replaceChildren(...visible.flatMap((row) => rankRows(row, all)), ...emptyRow(visible, all));
    find("#count").textContent = `${visible.length} of ${plural(rows().length, "agent")}`;
    drawTiers();
    drawHelp();
  });
}

function columns() {
  const scale = whiskerScale();
  const names = shortNames(envNames());
  return [
    { key: "rank", label: "#", title: "Rank", value: (row) => row.rank, cell: (row) => row.rank ?? NOTHING },
    { key: "agent", label: "Agent", value: (row) => row.agent.toLowerCase(), cell: agentCell },
    {
      key: "normalised",
      label: "Normalised regret",
      title: "0: the oracle, 1: choosing at random; with its 95 % interval",
      value: (row) => row.normalised?.[0],
      cell: (row) => regretCell(row, scale),
    },
    { key: "tier", label: "Trust", title: "How far the row was checked", value: tierOrder, cell: tierBadge },
    {
      key: "mean_rank",
      label: "Mean rank",
      title: "Rank within a world, averaged over worlds",
      value: (row) => row.mean_rank?.[0],
      cell: (row) => withInterval(row.mean_rank, (value) => fixed(value, 1)),
    },
    {
      key: "ms",
      label: "ms / step",
      title: "The agent's own time per step, in milliseconds",
      value: (row) => row.ms_per_step,
      cell: (row) => short(row.ms_per_step),
    },
    ...board().envs.map((env, k) => envColumn(env, names[k], k)),
  ];
}

function envColumn(env, name, k) {
  const value = (row) => row.envs[k]?.normalised?.[0];
  const values = rows().map(value).filter(isNumber).sort((a, b) => a - b);
  const best = values[0];
  const dull = values[Math.floor(0.75 * (values.length - 1))]; // from here on no shade
  const shade = (x) => (dull > best ? Math.max(0, Math.min(1, (dull - x) / (dull - best))) : 0);
  return {
    key: `env ${env.name}`,
    label: breakable(name),
    title: `${env.name}: normalised regret`,
    world: true,
    value,
    shade: (row) => (isNumber(value(row)) ? shade(value(row)) : null),
    best: (row) => isNumber(value(row)) && value(row) === best,
    cell: (row) => worldCell(row.envs[k]),
  };
}

function worldCell(own) {
  const { estimate, low, high } = triple(own?.normalised);
  return make("span", { title: range(low, high, (x) => fixed(x, 3)) || null }, fixed(estimate, 2));
}

function heading(column) {
  const chosen = state.sort.key === column.key;
  const direction = state.sort.ascending ? "ascending" : "descending";
  const sort = make(
    "button",
    { type: "button", class: "sort", title: column.title, data: { key: `sort ${column.key}` }, on: { click: () => sortBy(column) } },
    make("span", {}, column.label),
    make("span", { class: "arrow", "aria-hidden": "true" }, chosen ? (state.sort.ascending ? "▲" : "▼") : ""),
  );
  const kind = `c-${column.world ? "world" : column.key}`;
  return make("th", { scope: "col", class: kind, "aria-sort": chosen ? direction : "none" }, sort);
}

function sortBy({ key, title }) {
  const again = state.sort.key === key;
  state.sort = { key, ascending: again ? !state.sort.ascending : true };
  drawRanking();
  announce(`Sorted by ${title ?? key}, ${state.sort.ascending ? "ascending" : "descending"}`);
}

/** By the chosen column; what has no value comes last, either way. */
function sorted(list, all) {
  const { value } = all.find(({ key }) => key === state.sort.key) ?? all[0];
  const sign = state.sort.ascending ? 1 : -1;
  const missing = (x) => x === null || x === undefined;
  return [...list].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y) || a.place - b.place;
    return (x < y ? -sign : x > y ? sign : 0) || a.place - b.place;
  });
}

function passes(row) {
  const text = `${row.agent} ${row.authors ?? ""}`.toLowerCase();
  const tier = state.tiers.size === 0 || state.tiers.has(row.tier ?? "");
  return tier && text.includes(state.text.trim().toLowerCase());
}

function rankRows(row, all) {
  const cells = all.map((column) => rankCell(row, column));
  const shown = make("tr", { class: "agent", data: { agent: row.key } }, make("td", { class: "pick screen" }, pickBox(row)), cells);
  const width = all.length + 1;
  return state.open.has(row.key) ? [shown, detailRow(row, width)] : [shown];
}

function rankCell(row, column) {
  const kind = `c-${column.world ? "world" : column.key}`;
  if (column.key === "agent") return make("th", { scope: "row", class: kind }, column.cell(row));
  const node = make("td", { class: `${kind}${column.best?.(row) ? " best" : ""}` }, column.cell(row));
  const shade = column.shade?.(row);
  if (isNumber(shade)) node.style.setProperty("--shade", `${(shade * 34).toFixed(1)}%`);
  return node;
}

function emptyRow(visible, all) {
  if (visible.length) return [];
  const text = rows().length ? "No agent passes the filter." : "No agents on this board yet.";
  return [make("tr", {}, make("td", { colspan: all.length + 1, class: "empty" }, text))];
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
  const partial = "Not run in every world: no rank over all of them";
  return row.complete === false ? [name, make("span", { class: "partial", title: partial }, "incomplete")] : [name];
}

const tierOrder = (row) => (TIERS.includes(row.tier) ? TIERS.indexOf(row.tier) : null);

/** Four steps, filled as far as the row was checked: not told by colour alone. */
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

function regretCell(row, scale) {
  if (!row.normalised) return NOTHING;
  return make("span", { class: "regret" }, withInterval(row.normalised, (x) => fixed(x, 3)), whisker(triple(row.normalised), scale));
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
  const middle = WHISKER.height / 2;
  const parts = [0, 1]
    .filter((mark) => mark >= first && mark <= last)
    .map((mark) => draw("line", { class: "mark", x1: place(mark), x2: place(mark), y1: 1, y2: WHISKER.height - 1 }));
  parts.push(draw("rect", { class: "amount", x: place(0), y: middle - 4, width: Math.max(0, place(estimate) - place(0)), height: 8 }));
  if (isNumber(low) && isNumber(high))
    parts.push(draw("line", { class: "interval", x1: place(low), x2: place(high), y1: middle, y2: middle }));
  const beyond = estimate > last;
  const tip = place(last) + WHISKER.pad;
  parts.push(
    beyond
      ? draw("path", { class: "dot", d: `M${tip - 7} ${middle - 4} L${tip} ${middle} L${tip - 7} ${middle + 4}Z` })
      : draw("circle", { class: "dot", cx: place(estimate), cy: middle, r: 3.5 }),
  );
  return draw("svg", { class: "whisker", width: WHISKER.width, height: WHISKER.height, "aria-hidden": "true" }, ...parts);
}

// --- provenance

function clickRow(event) {
  if (event.target.closest("button, a, input, label, .details")) return;
  if (String(getSelection())) return; // somebody marks text to copy it
  const row = event.target.closest("tr.agent");
  if (row) toggleRow(row.dataset.agent);
}

function toggleRow(key) {
  if (!state.open.delete(key)) state.open.add(key);
  drawRanking();
}

function detailRow(row, width) {
  return make("tr", { class: "details" }, make("td", { colspan: width }, provenance(row)));
}

function provenance(row) {
  const facts = [["Agent", row.agent], ["Authors", row.authors || NOTHING], ["Link", linkOf(row)], ...(row.provenance ?? [])];
  const list = facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value ?? NOTHING)));
  return make("div", { class: "provenance" }, make("dl", {}, list));
}

function linkOf({ link }) {
  const address = webAddress(link);
  if (address === null) return link || NOTHING;
  return make("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, link);
}

// --- what goes around the table

function drawTiers() {
  const present = TIERS.filter((tier) => rows().some((row) => row.tier === tier));
  const chips = present.map((tier) => {
    const box = make("input", {
      type: "checkbox",
      checked: state.tiers.has(tier),
      data: { key: `tier ${tier}` },
      on: { change: () => toggleTier(tier) },
    });
    return make("label", { class: "chip", title: TIER_TEXTS[tier] }, box, tier);
  });
  find("#tiers").hidden = present.length === 0;
  find("#tiers").replaceChildren(make("legend", {}, "Trust"), ...chips);
}

function toggleTier(tier) {
  if (!state.tiers.delete(tier)) state.tiers.add(tier);
  drawRanking();
}

function drawHelp() {
  const present = TIERS.filter((tier) => rows().some((row) => row.tier === tier));
  const texts = present.map((tier) => make("li", {}, make("b", {}, tier), ` ${TIER_TEXTS[tier]}.`));
  find("#ranking-help").replaceChildren(
    make("p", {}, "Lower is better: 0 is the oracle, 1 choosing at random. Shades mark the better rows of each world. A row opens its provenance."),
    texts.length ? make("ul", {}, texts) : "",
    printing ? make("div", { class: "printed" }, make("h2", {}, "Provenance"), rows().map(provenance)) : "",
  );
}
