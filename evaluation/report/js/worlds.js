// One panel per world: its picture, the curves, the regret by phase, the numbers.

function drawWorlds() {
  keepingFocus(() => {
    const section = find("#worlds");
    section.hidden = board().envs.length === 0;
    if (!find("#env-tabs")) {
      section.replaceChildren(
        make("h2", { id: "worlds-title" }, "Worlds"),
        make("div", { id: "env-tabs", class: "tabs" }),
        make("div", { id: "env-panels" }),
      );
    }
    drawEnvTabs();
    const panels = board().envs.map((env, k) => panel(env, k));
    find("#env-panels").replaceChildren(...panels);
  });
}

function drawEnvTabs() {
  const names = shortNames(envNames());
  const label = (env, k) => (env.simulated ? `${names[k]}, simulated` : names[k]);
  const items = board().envs.map((env, k) => ({
    key: env.name,
    label: label(env, k),
    title: env.name,
    panel: `env-${k}`,
  }));
  const chosen = envNames()[envIndex()];
  drawTabs(find("#env-tabs"), { name: "env", label: "Worlds", items, chosen, choose: chooseEnv });
}

function chooseEnv(name) {
  state.env = name;
  keepingFocus(drawEnvTabs);
  board().envs.forEach((env, k) => {
    const node = find(`#env-${k}`);
    if (env.name === name && !node.hasChildNodes()) fillPanel(node, env, k);
    node.hidden = env.name !== name;
  });
}

/** Filled only when it is looked at, or printed. */
function panel(env, k) {
  const role = { role: "tabpanel", "aria-labelledby": `env-tab-${k}`, tabindex: "0" };
  const node = make("div", { id: `env-${k}`, class: "panel", ...role });
  const chosen = k === envIndex();
  node.hidden = !chosen;
  if (chosen || printing) fillPanel(node, env, k);
  return node;
}

function fillPanel(node, env, k) {
  node.replaceChildren(aboutWorld(env), curvesPart(env, k), phasesPart(env, k), numbersPart(env, k));
}

function aboutWorld(env) {
  const facts = [
    ["Runs", env.runs ?? NOTHING],
    ["Steps", env.t?.length ? fixed(env.t[env.t.length - 1] - env.t[0] + 1, 0) : NOTHING],
    ["Season", isNumber(env.period) ? `${Number(env.period.toFixed(2))} steps` : "none, or not fixed"],
    ...(env.simulated ? [["Data", "simulated, in the place of measurements"]] : []),
  ];
  const list = make("dl", { class: "facts" }, definitions(facts));
  const text = make("div", {}, make("h3", {}, env.name), make("p", {}, env.about ?? ""), list);
  return make("div", { class: "about" }, picture(env), text);
}

function picture(env) {
  if (typeof env.picture !== "string" || !env.picture.startsWith("data:image/")) return null;
  const alt = `The world ${env.name}: mean reward of each action over time`;
  const image = make("img", { alt, loading: "lazy" });
  pictures.set(image, env);
  showPicture(image);
  return make("figure", { class: "picture" }, image);
}

const pictures = new WeakMap(); // image -> its world

function showPicture(image) {
  const { picture: light, dark_picture: dark } = pictures.get(image);
  const usable = typeof dark === "string" && dark.startsWith("data:image/");
  image.src = isDark() && usable ? dark : light;
}

/** The theme has changed. */
function showPictures() {
  for (const image of findAll(".picture img")) showPicture(image);
}

function curvesPart(env, k) {
  const usable = (row) => Boolean(row.envs[k]?.curve);
  const bands = withBands([...rows(), ...references()].map((row) => row.envs[k]?.curve));
  const place = chart(`curves ${board().id} ${env.name}`, {
    label: `Mean cumulative regret in ${env.name} by step${bands}; its end is in the table below`,
    height: 400,
    figure: () => curvesFigure(env, k),
  });
  return make(
    "div",
    { class: "part" },
    make("div", { class: "bar" }, make("h4", {}, `Regret over time${env.simulated ? ", simulated" : ""}`), csvOfCurves(env, k)),
    make("div", { class: "with-legend" }, make("figure", {}, place), legend(`curves-${k}`, usable)),
  );
}

function csvOfCurves(env, k) {
  const save = () => download(`curves-${env.name.replace(/[^\w-]+/g, "-")}`, curveLines(k));
  return button("Curves CSV", save, { class: "control screen csv-curves" });
}

function curvesFigure(env, k) {
  const shown = [...references(), ...rows()].filter((row) => isShown(row) && row.envs[k]?.curve);
  return {
    data: shown.flatMap((row) => bandTraces(row, env.t, row.envs[k].curve)),
    layout: {
      xaxis: { title: "step t" },
      yaxis: { title: "mean cumulative regret", rangemode: "tozero", hoverformat: ",.4~r" },
      hovermode: shown.length > 8 ? "closest" : "x unified",
    },
  };
}

// --- regret by phase

function phasesPart(env, k) {
  const list = rows().filter((row) => row.envs[k]?.by_phase?.some(isNumber));
  if (list.length === 0) return null;
  const place = chart(`phases ${board().id} ${env.name}`, {
    label: `Regret per step in ${env.name} by phase of the season, one line per agent`,
    height: 84 + 21 * list.length,
    figure: () => phasesFigure(env, k, list),
  });
  const text = "Mean regret of a step at each phase of the season; the agent that loses least is on top.";
  const head = [make("h4", {}, `Regret by phase${env.simulated ? ", simulated" : ""}`), make("p", { class: "small" }, text)];
  return make("div", { class: "part" }, head, make("figure", {}, place));
}

const meanOf = (values) => {
  const known = values.filter(isNumber);
  return known.reduce((sum, x) => sum + x, 0) / known.length;
};

function phasesFigure(env, k, list) {
  const phases = (row) => row.envs[k].by_phase;
  const ordered = [...list].sort((a, b) => meanOf(phases(b)) - meanOf(phases(a))); // the top is drawn last
  const bins = phases(ordered[0]).length;
  const season = isNumber(env.period) ? env.period : bins;
  const narrow = innerWidth < 600 && !printing;
  const y = ordered.map((_, i) => i);
  const trace = {
    type: "heatmap",
    z: ordered.map(phases),
    x: Array.from({ length: bins }, (_, i) => ((i + 0.5) * season) / bins),
    y,
    text: ordered.map((row) => phases(row).map(() => plotlyText(row.agent))),
    hovertemplate: "%{text}<br>phase %{x:.3~f}: %{z:.3f} per step<extra></extra>",
    colorscale: "Cividis",
    ...heatRange(ordered.flatMap(phases)),
    colorbar: { thickness: 10, outlinewidth: 0, title: { text: narrow ? "" : "regret per step", side: "right" } },
    ygap: 1,
  };
  const labels = ordered.map((row) => plotlyText(row.agent, narrow ? 14 : 28));
  const ticks = { tickmode: "array", tickvals: y, ticktext: labels, showgrid: false, automargin: true };
  const layout = { xaxis: { title: "phase", showgrid: false }, yaxis: ticks, margin: { t: 6, l: 20 } };
  return { data: [trace], layout };
}

/** The colours span all but the top 1 %: one terrible agent hides no other. */
function heatRange(values) {
  const all = values.filter(isNumber).sort((a, b) => a - b);
  return { zmin: Math.min(0, all[0]), zmax: Math.max(all[Math.floor(0.99 * (all.length - 1))], 1e-12) };
}

// --- the numbers of a world

function numbersPart(env, k) {
  const final = (row) => row.envs[k].regret?.[0] ?? Infinity;
  const list = [...rows(), ...references()].filter((row) => row.envs[k]);
  const headings = board().world_columns.map(({ label, title }) => make("th", { scope: "col", title }, label));
  const head = [make("th", { scope: "col" }, "Agent"), ...headings];
  const body = list.sort((a, b) => final(a) - final(b)).map((row) => numbersRow(row, row.envs[k]));
  const table = scrollingTable(`Final regret in ${env.name}`, { class: "numbers" }, head, body);
  const summary = make("summary", { data: { key: `numbers ${k}` } }, "The numbers, references included");
  const keep = (event) => printing || (state.numbers = event.target.open);
  return make("details", { class: "part", open: state.numbers, on: { toggle: keep } }, summary, table);
}

function numbersRow(row, own) {
  return make(
    "tr",
    { class: row.place === undefined ? "reference" : null },
    make("th", { scope: "row", title: row.agent }, row.agent),
    board().world_columns.map((column) => make("td", {}, valueCell(own, column))),
  );
}
