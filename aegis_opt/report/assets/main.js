// Put the page together.
const figures = FIGURES.map(makeFigure);
document.getElementById("figure-list").append(...figures.map((figure) => figure.card));
document.getElementById("table-list").append(...DATA.tables.map(buildTable));

const datasets = [...new Set(DATA.selections.map((selection) => selection.dataset))];
const scopes = [...new Set(DATA.selections.map((selection) => selection.scope))];
const chosen = { dataset: "0", scope: scopes[0] };
function showSelection() {
  const selection = DATA.selections.find(({ dataset, scope }) => dataset === datasets[Number(chosen.dataset)] && scope === chosen.scope);
  for (const figure of figures) figure.show(selection);
}
document.getElementById("selection").append(
  menu("Data set", datasets.map((name, i) => [String(i), name ?? "all data sets"]), "0", (value) => { chosen.dataset = value; showSelection(); }),
  menu("Scope", scopes.map((scope) => [scope, scope]), chosen.scope, (value) => { chosen.scope = value; showSelection(); }),
);
showSelection();

let waiting = 0;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(() => figures.forEach((figure) => figure.redraw()), 120);
});
addEventListener("beforeprint", () => figures.forEach((figure) => figure.redraw(true)));
addEventListener("afterprint", () => figures.forEach((figure) => figure.redraw()));

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
