// Numbers to take home.

/** A cell. Text that a spreadsheet would take for a formula gets a leading apostrophe. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csv = (lines) => lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");

function download(name, lines) {
  const url = URL.createObjectURL(new Blob([csv(lines)], { type: "text/csv;charset=utf-8" }));
  const link = make("a", { href: url, download: `${name}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const withBounds = (name) => [name, `${name}_low`, `${name}_high`];
const bounds = (values) => Object.values(triple(values));
const columnHeads = (columns) => columns.flatMap(({ key, interval }) => (interval ? withBounds(key) : [key]));
const columnCells = (columns, row) =>
  columns.flatMap(({ key, interval }) => (interval ? bounds(row[key]) : [row[key]]));

function rankingLines() {
  const { columns } = board();
  const worlds = envNames().map((name) => `normalised ${name}`);
  const head = ["rank", "agent", "tier", "authors", ...columnHeads(columns), "complete", ...worlds];
  const lines = rows().map((row) => [
    row.rank,
    row.agent,
    row.tier,
    row.authors,
    ...columnCells(columns, row),
    String(row.complete),
    ...row.envs.map((env) => env?.normalised?.[0]),
  ]);
  return [head, ...lines];
}

function worldLines() {
  const columns = board().world_columns;
  const lines = board().envs.flatMap((env, k) =>
    [...rows(), ...references()].map((row) => {
      const kind = row.place === undefined ? "reference" : "agent";
      return row.envs[k] && [env.name, row.agent, kind, ...columnCells(columns, row.envs[k])];
    }),
  );
  return [["env", "agent", "kind", ...columnHeads(columns)], ...lines.filter(Boolean)];
}

function curveLines(k) {
  const env = board().envs[k];
  const head = ["env", "agent", "t", ...withBounds("mean_cumulative_regret")];
  const lines = [...rows(), ...references()].flatMap((row) => {
    const curve = row.envs[k]?.curve;
    if (!curve) return [];
    return env.t.map((t, i) => [env.name, row.agent, t, curve.mean[i], curve.low?.[i], curve.high?.[i]]);
  });
  return [head, ...lines];
}

function pairLines() {
  const head = ["env", "first", "second", ...withBounds("difference"), "p_value"];
  const tables = [["all worlds, normalised", board().pairs?.all]];
  board().envs.forEach((env, k) => tables.push([env.name, board().pairs?.envs?.[k]]));
  const lines = tables.flatMap(([name, table]) => (table ? allPairs(name, table) : []));
  return [head, ...lines];
}

function allPairs(name, table) {
  return rows().flatMap((first, i) =>
    rows().flatMap((second, j) => {
      const cell = pairCell(table, i, j);
      if (cell === null) return [];
      return [[name, first.agent, second.agent, cell.difference, cell.low, cell.high, cell.p]];
    }),
  );
}

/** Row i minus row j, or null where they have nothing in common. */
function pairCell(table, i, j) {
  const at = (name) => table?.[name]?.[i]?.[j] ?? null;
  const cell = { difference: at("difference"), low: at("low"), high: at("high"), p: at("p") };
  return isNumber(cell.difference) ? cell : null;
}
