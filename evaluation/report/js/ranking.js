// The rank table: sorted, filtered, each row with its provenance.

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
    make("p", { id: "scroll-hint", class: "small screen", hidden: true }),
    make(
      "div",
      {
        class: "scroller",
        role: "region",
        "aria-labelledby": "ranking-title",
        tabindex: "0",
        on: { scroll: showScrolling },
      },
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
    const compare = make("th", { scope: "col", class: "pick screen" }, unseen("Compare"));
    find("#ranks thead").replaceChildren(make("tr", {}, compare, all.map(heading)));
    find("#ranks tbody").replaceChildren(...visible.flatMap((row) => rankRows(row, all)), ...emptyRow(visible, all));
    find("#count").textContent = `${visible.length} of ${plural(rows().length, "agent")}`;
    drawTiers();
    drawHelp();
  });
  showScrolling();
}

/** A table that goes on beyond its edge says so, in words and by a shadow. */
function showScrolling() {
  const box = find("#ranks")?.parentElement;
  if (!box) return;
  const hidden = findAll("#ranks thead th").filter((cell) => cell.offsetLeft + cell.offsetWidth > box.clientWidth + 1);
  const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
  box.classList.toggle("more", more);
  const hint = find("#scroll-hint");
  hint.hidden = hidden.length === 0;
  hint.textContent = `${plural(hidden.length, "column")} more: scroll the table sideways →`;
}

/** Numbers as `board().columns` declares them, between what is no number and the worlds. */
function columns() {
  const scale = whiskerScale();
  const names = shortNames(envNames());
  const numbers = board().columns.map((column) => valueColumn(column, scale));
  return [
    { key: "rank", label: "#", title: "Rank", value: (row) => row.rank, cell: (row) => row.rank ?? NOTHING },
    { key: "agent", label: "Agent", value: (row) => row.agent.toLowerCase(), cell: agentCell },
    ...numbers.slice(0, 1),
    ...(rows().some(({ tier }) => tier) ? [TRUST] : []), // of one's own results nothing was checked
    ...numbers.slice(1),
    ...board().envs.map((env, k) => envColumn(env, names[k], k)),
  ];
}

const TRUST = {
  key: "tier",
  label: "Trust",
  title: "How far the row was checked",
  value: (row) => tierOrder(row),
  cell: (row) => tierBadge(row),
};

function valueColumn(column, scale) {
  const { key, label, title } = column;
  const cell = key === "normalised" ? (row) => regretCell(row, scale) : (row) => valueCell(row, column);
  return { key, label, title, number: true, value: (row) => triple(row[key]).estimate, cell };
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
    title: `${env.name}${env.simulated ? ", simulated" : ""}: normalised regret`,
    world: true,
    value,
    shade: (row) => (isNumber(value(row)) ? shade(value(row)) : null),
    best: (row) => isNumber(value(row)) && value(row) === best,
    cell: (row) => worldCell(row.envs[k]),
  };
}

function heading(column) {
  const chosen = state.sort.key === column.key;
  const direction = state.sort.ascending ? "ascending" : "descending";
  const sort = make(
    "button",
    {
      type: "button",
      class: "sort",
      title: column.title,
      data: { key: `sort ${column.key}` },
      on: { click: () => sortBy(column) },
    },
    make("span", {}, column.label),
    make("span", { class: "arrow", "aria-hidden": "true" }, chosen ? (state.sort.ascending ? "▲" : "▼") : ""),
  );
  return make("th", { scope: "col", class: kindOf(column), "aria-sort": chosen ? direction : "none" }, sort);
}

const kindOf = ({ key, world, number }) => `c-${world ? "world" : key}${number ? " c-number" : ""}`;

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
  const box = make("td", { class: "pick screen" }, pickBox(row));
  const cells = all.map((column) => rankCell(row, column));
  const shown = make("tr", { class: "agent", data: { agent: row.key } }, box, cells);
  return state.open.has(row.key) ? [shown, detailRow(row, all.length + 1)] : [shown];
}

function rankCell(row, column) {
  const kind = kindOf(column);
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

// --- around the table

const RANKING_TEXT =
  "Lower is better: 0 is the oracle, 1 choosing at random. " +
  "Shades mark the better rows of each world. A row opens its provenance.";

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
    make("p", {}, RANKING_TEXT),
    texts.length ? make("ul", {}, texts) : "",
    printing ? printedProvenance() : "",
  );
}
