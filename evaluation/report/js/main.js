// The page as a whole: boards, theme, print.

function drawBoards() {
  const items = state.content.boards.map(({ id, title, rows: own }) => ({
    key: id,
    label: `${title} (${own.length})`,
    panel: "board",
  }));
  const list = find("#board-tabs");
  list.hidden = items.length < 2;
  drawTabs(list, { name: "board", label: "Boards", items, chosen: board().id, choose: chooseBoard });
  const place = items.findIndex(({ key }) => key === board().id);
  setAttributes(find("#board"), { role: "tabpanel", "aria-labelledby": `board-tab-${place}` });
  find("#board-note").textContent = board().note ?? "";
}

function chooseBoard(id) {
  state.board = id;
  settlePair();
  drawEverything();
}

function drawEverything() {
  keepingFocus(() => {
    drawHead();
    drawBoards();
    drawRanking();
    drawWorlds();
    drawCompare();
    drawProfiles();
    drawSensitivity();
  });
}

// --- light and dark

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  find("#theme").textContent = isDark() ? "Light" : "Dark";
  find("#theme").title = `Switch to ${isDark() ? "light" : "dark"}`;
  showPictures();
  redrawCharts();
}

function remembered() {
  try {
    return localStorage.getItem("periodic-gp-theme");
  } catch {
    return null; // storage is off: the page works without
  }
}

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("periodic-gp-theme", theme);
  } catch {
    // as above
  }
  showTheme();
}

function startTheme() {
  const theme = remembered();
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  find("#theme").hidden = false;
  find("#theme").addEventListener("click", toggleTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  showTheme();
}

// --- paper: every world and every provenance is laid open, in ink on white

let before = null;

function startPrint() {
  if (printing) return;
  printing = true;
  before = { open: state.open, theme: document.documentElement.dataset.theme };
  document.documentElement.dataset.theme = "light";
  state.open = new Set(); // provenance stands below the table, not between its rows
  drawEverything();
  findAll("details").forEach((node) => (node.open = true));
  findAll(".panel").forEach((node) => (node.hidden = false));
  drawAllCharts();
}

function endPrint() {
  if (!printing) return;
  printing = false;
  state.open = before.open;
  if (before.theme) document.documentElement.dataset.theme = before.theme;
  else delete document.documentElement.dataset.theme;
  drawEverything();
  redrawCharts();
}

function start() {
  setContent(JSON.parse(find("#content").textContent));
  find("#page").hidden = false;
  buildRanking();
  drawEverything();
  startTheme();
  addEventListener("beforeprint", startPrint);
  addEventListener("afterprint", endPrint);
  matchMedia("print").addEventListener("change", ({ matches }) => (matches ? startPrint() : endPrint()));
  addEventListener("resize", showScrolling);
  follow();
}

start();
