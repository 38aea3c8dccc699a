// Put the page together: charts by data set and scope, tables, light and dark.
const first = DATA.selections.find(({ dataset, scope }) => dataset === DATA.first.dataset && scope === DATA.first.scope);
const datasets = [...new Set(DATA.selections.map((selection) => selection.dataset))];
const scopes = [...new Set(DATA.selections.map((selection) => selection.scope))];
const chosen = { dataset: String(datasets.indexOf(first.dataset)), scope: first.scope, measure: null, run: {} };
const card = (kind) => document.getElementById(`figure-${kind}`);

function draw(kind, spec, empty) {
  const place = card(kind).querySelector(".chart");
  if (spec) return drawChart(place, spec);
  if (place.chart) place.chart.finalize();
  place.replaceChildren(el("p", { class: "empty" }, empty));
}

function showSelection() {
  const selection = DATA.selections.find(({ dataset, scope }) => dataset === datasets[Number(chosen.dataset)] && scope === chosen.scope);
  for (const kind of DATA.kinds) {
    card(kind).querySelector(".note").textContent = selection.notes[kind] ?? "";
    if (kind === "ranking") showRun(selection);
    else if (kind === "estimate") showEstimate(selection);
    else draw(kind, selection.charts[kind]?.[""], "There is nothing to draw here.");
  }
}

function showEstimate(selection) {
  const measures = Object.keys(selection.charts.estimate ?? {});
  const show = (measure) => { chosen.measure = measure; draw("estimate", selection.charts.estimate?.[measure], "No run named a winner."); };
  const start = measures.includes(chosen.measure) ? chosen.measure : measures[0];
  const menus = measures.length > 1 ? [menu("Measure", measures.map((name) => [name, name]), start, show)] : [];
  card("estimate").querySelector(".controls").replaceChildren(...menus);
  show(start);
}

function showRun(selection) {
  const runs = DATA.rankings.runs.filter(({ scope, dataset }) => scope === selection.scope && (selection.dataset === null || dataset === selection.dataset));
  const controls = card("ranking").querySelector(".controls"), remark = card("ranking").querySelector(".remark");
  const key = (run) => `${run.variant}|${run.histogram}|${run.seed}`;
  const name = (run) => `${run.variant}, ${histograms(run.histogram)}${run.seed ? `, seed ${run.seed}` : ""}${run.status === "ok" ? "" : ` (${run.status})`}`;
  const pick = (values, value) => (values.includes(value) ? value : values[0]);
  function show() {
    const names = [...new Set(runs.map((run) => run.dataset))];
    chosen.run.dataset = pick(names, chosen.run.dataset);
    const there = runs.filter((run) => run.dataset === chosen.run.dataset);
    const measures = [...new Set(there.map((run) => run.measure))];
    chosen.run.measure = pick(measures, chosen.run.measure);
    const own = there.filter((run) => run.measure === chosen.run.measure);
    const best = own.find((run) => run.status === "ok" && run.rows.length) ?? own.find((run) => run.rows.length) ?? own[0];
    chosen.run.key = pick([...own.map(key)].sort((a, b) => (b === (best && key(best))) - (a === (best && key(best)))), chosen.run.key);
    const run = own.find((one) => key(one) === chosen.run.key);
    const again = (field) => (value) => { chosen.run[field] = value; const open = [...controls.querySelectorAll("select")].indexOf(document.activeElement); show(); controls.querySelectorAll("select")[open]?.focus(); };
    controls.replaceChildren(...(run ? [
      menu("Data set", names.map((value) => [value, value]), chosen.run.dataset, again("dataset")),
      menu("Measure", measures.map((value) => [value, value]), chosen.run.measure, again("measure")),
      menu("Run", own.map((one) => [key(one), name(one)]), chosen.run.key, again("key")),
    ] : []));
    remark.hidden = !run;
    remark.textContent = run ? run.remark : "";
    const rows = run ? run.rows.map((row) => Object.fromEntries(run.keys.map((field, i) => [field, row[i]]))) : [];
    draw("ranking", rows.length ? { ...DATA.rankings.charts[run.measure], height: DATA.row * rows.length, datasets: { rows } } : null, "There is no order to draw.");
  }
  show();
}

document.getElementById("table-list").append(...DATA.tables.map(buildTable));
document.getElementById("selection").append(
  menu("Data set", datasets.map((name, i) => [String(i), name ?? "all data sets"]), chosen.dataset, (value) => { chosen.dataset = value; showSelection(); }),
  menu("Scope", scopes.map((scope) => [scope, scope]), chosen.scope, (value) => { chosen.scope = value; showSelection(); }),
);
showSelection();

const theme = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
prefersDark.addEventListener("change", nameTheme);
nameTheme();
