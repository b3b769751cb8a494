// Over all worlds: performance profiles, and what the ranks hang on.

const PROFILES_TEXT =
  "The share of runs, over all worlds, with a score above s (1: the oracle, 0: choosing at random). " +
  "Higher is better; lines that cross mean that neither agent is better throughout.";
const SENSITIVITY_TEXT =
  "The rank of each agent if one world is left out, or if worlds are averaged another way. " +
  "A row of one colour is a rank that hangs on no single world.";

function drawProfiles() {
  const section = find("#profiles");
  const usable = (row) => Boolean(row.profile);
  section.hidden = !rows().some(usable);
  if (section.hidden) return;
  const bands = withBands(rows().map(({ profile }) => profile));
  const place = chart(`profiles ${board().id}`, {
    label: `Performance profiles: the share of runs that score above each threshold${bands}`,
    height: 400,
    figure: profilesFigure,
  });
  section.replaceChildren(
    make("h2", { id: "profiles-title" }, "Performance profiles"),
    make("p", { class: "small" }, PROFILES_TEXT),
    make("div", { class: "with-legend" }, make("figure", {}, place), legend("profiles", usable)),
  );
}

function profilesFigure() {
  const shown = rows().filter((row) => isShown(row) && row.profile);
  return {
    data: shown.flatMap((row) => bandTraces(row, board().thresholds, row.profile)),
    layout: {
      xaxis: { title: "score s" },
      yaxis: { title: "share of runs above s", range: [0, 1.02], hoverformat: ".2f" },
      hovermode: shown.length > 8 ? "closest" : "x unified",
    },
  };
}

function drawSensitivity() {
  const section = find("#sensitivity");
  const table = board().sensitivity;
  section.hidden = !table || rows().length === 0;
  if (section.hidden) return;
  section.replaceChildren(
    make("h2", { id: "sensitivity-title" }, "Sensitivity of the ranks"),
    make("p", { class: "small" }, SENSITIVITY_TEXT),
    sensitivityTable(table),
  );
}

function sensitivityTable({ columns: titles, ranks }) {
  const shorter = titles.map((title) => title.replace("PeriodicGP-", "").replace(/-v\d+/, ""));
  const head = shorter.map((title, i) => make("th", { scope: "col", title: titles[i] }, breakable(title)));
  const most = Math.max(2, ...ranks.flat().filter(isNumber));
  const body = rows().map((row, i) => {
    const cells = (ranks[i] ?? []).map((rank) => rankOf(rank, most));
    return make("tr", {}, make("th", { scope: "row", title: row.agent }, row.agent), cells);
  });
  const first = make("th", { scope: "col" }, "Agent");
  return scrollingTable("Ranks if something is left out", { class: "heat" }, [first, ...head], body);
}

function rankOf(rank, most) {
  const node = make("td", {}, isNumber(rank) ? String(Number(rank.toFixed(1))) : NOTHING);
  const share = (most - rank) / (most - 1);
  if (isNumber(rank)) node.style.setProperty("--shade", `${(share * 44).toFixed(1)}%`);
  return node;
}

// --- the head of the page, once more when it changes

function drawHead() {
  const { title, subtitle, facts, notes } = state.content;
  document.title = title;
  find("#title").textContent = title;
  find("#subtitle").textContent = subtitle ?? "";
  find("#facts").replaceChildren(...definitions(facts));
  find("#notes").replaceChildren(...notes.map((note) => make("p", {}, note)));
  drawProgress();
}

function drawProgress() {
  const node = find("#progress");
  const { progress } = state.content;
  node.hidden = !progress;
  if (!progress) return;
  const failed = progress.failed ? `, ${plural(progress.failed, "failure")}` : "";
  const made = progress.as_of ? `; tables as of ${clock(progress.as_of)}` : "";
  const text = `${fixed(progress.done, 0)} of ${plural(progress.of, "run")} done${failed}${made}`;
  const open = find("details", node)?.open;
  node.replaceChildren(
    make("progress", { max: Math.max(progress.of, 1), value: progress.done, "aria-label": "Runs done" }),
    make("span", {}, text),
    ...failureList(progress.failures ?? [], open),
  );
}

/** Seconds since 1970 as HH:MM:SS of this machine, with the date if it is not of today. */
function clock(seconds) {
  const then = new Date(1000 * seconds);
  const today = then.toDateString() === new Date().toDateString();
  return today ? then.toLocaleTimeString("en-GB") : then.toLocaleString("en-GB");
}

function failureList(failures, open) {
  if (failures.length === 0) return [];
  const head = ["Agent", "World", "Seed", "Reason"].map((text) => make("th", { scope: "col" }, text));
  const body = failures.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, String(cell ?? "")))));
  const summary = make("summary", { data: { key: "failures" } }, "What failed");
  return [make("details", { open }, summary, scrollingTable("Runs that failed", { class: "plain" }, head, body))];
}
