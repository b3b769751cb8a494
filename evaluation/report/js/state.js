// What is shown, and what the reader has chosen. Choices are kept by name, so that they outlive an
// update in which rows have moved.

const SHOWN_AT_FIRST = 6;
const TIERS = ["hidden-seed", "re-run", "replayed", "self-reported"];
const TIER_TEXTS = {
  "hidden-seed": "Run again by the maintainers on seeds nobody knew beforehand",
  "re-run": "Run again by the maintainers on a sample of the runs; the actions agree",
  replayed: "The logged actions, played through the same worlds again, give the same rewards",
  "self-reported": "As its authors report it; nothing was checked but the form",
};
// Black is the ink: it is white where the page is dark.
const INK = "#000000";

const state = {
  content: null,
  board: null, // id
  env: null, // name
  sort: { key: "rank", ascending: true },
  text: "",
  tiers: new Set(), // nothing chosen: all
  shown: new Map(), // key -> whether its curve is drawn, where the reader has said so
  pair: [null, null], // keys
  open: new Set(), // keys
  numbers: false, // whether the numbers of a world are laid open
};

const emptyBoard = { id: "", title: "", columns: [], world_columns: [], envs: [], thresholds: [], rows: [] };

const board = () =>
  state.content.boards.find(({ id }) => id === state.board) ?? state.content.boards[0] ?? emptyBoard;
const rows = () => board().rows;
const references = () => board().references ?? [];
const envNames = () => board().envs.map(({ name }) => name);

function envIndex() {
  return Math.max(0, envNames().indexOf(state.env));
}

/** A name for each row that nobody else has, even if two authors chose the same. */
function keyRows(list, prefix = "") {
  const seen = new Map();
  for (const row of list) {
    const count = (seen.get(row.agent) ?? 0) + 1;
    seen.set(row.agent, count);
    row.key = `${prefix}${row.agent}${count > 1 ? ` (${count})` : ""}`;
  }
}

/** Take new content; choices stay as far as they still mean something. */
function setContent(content) {
  state.content = content;
  for (const each of content.boards) {
    keyRows(each.rows);
    keyRows(each.references ?? [], "reference ");
    each.rows.forEach((row, place) => (row.place = place));
  }
  settlePair();
}

/** The two that are compared: the reader's choice, else the best that are free. */
function settlePair() {
  const keys = rows().map(({ key }) => key);
  const pair = state.pair.map((key) => (keys.includes(key) ? key : null));
  for (const i of [0, 1]) pair[i] ??= keys.find((key) => !pair.includes(key)) ?? null;
  state.pair = pair;
}

function isShown(row) {
  const said = state.shown.get(row.key);
  return said ?? (row.place !== undefined && row.place < SHOWN_AT_FIRST);
}

function styleOf(row) {
  if (row.place === undefined) return { colour: "var(--muted)", dash: "dashdot" };
  const [colour, dash] = row.look;
  return { colour: colour === INK ? "var(--ink)" : colour, dash };
}
