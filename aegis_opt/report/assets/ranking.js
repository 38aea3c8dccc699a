// The ranking of one run: configurations in order of the estimate, proved interval, estimate and truth.
const runKey = (run) => `${run.variant}|${run.histogram}|${run.seed}`;
const runTitle = (run) => `${run.variant}, ${histograms(run.histogram)}${run.seed ? `, seed ${run.seed}` : ""}${run.status === "ok" ? "" : ` (${run.status})`}`;
const unique = (values) => [...new Set(values)];
const firstShown = (runs) => runs.find((run) => run.status === "ok" && run.names.length) ?? runs.find((run) => run.names.length) ?? runs[0];

// Where the reader's choice does not exist in this selection, the first run is shown.
function rankingChoice(selection, state) {
  const all = DATA.rankings.filter((run) => run.scope === selection.scope && (selection.dataset === null || run.dataset === selection.dataset));
  const datasets = unique(all.map((run) => run.dataset));
  const dataset = datasets.includes(state.dataset) ? state.dataset : datasets[0];
  const measures = unique(all.filter((run) => run.dataset === dataset).map((run) => run.measure));
  const measure = measures.includes(state.measure) ? state.measure : measures[0];
  const runs = all.filter((run) => run.dataset === dataset && run.measure === measure);
  return { datasets, dataset, measures, measure, runs, run: runs.find((run) => runKey(run) === state.run) ?? firstShown(runs) };
}

function rankingMenus(selection, state, change) {
  const { datasets, dataset, measures, measure, runs, run } = rankingChoice(selection, state);
  if (!run) return [];
  const choose = (key, value) => { state[key] = value; change(); };
  return [
    datasets.length > 1 ? menu("Data set", datasets.map((name) => [name, name]), dataset, (value) => choose("dataset", value)) : null,
    menu("Measure", measures.map((name) => [name, DATA.measures[name].title]), measure, (value) => choose("measure", value)),
    menu("Run", runs.map((one) => [runKey(one), runTitle(one)]), runKey(run), (value) => choose("run", value)),
  ].filter(Boolean);
}

const rankingLegend = (selection, state) => (rankingChoice(selection, state).run?.names.length ? [
  { key: "bounds", text: "proved to lie here", icon: icon(svg("rect", { x: 2, y: 3, width: 18, height: 6, rx: 2, style: "fill:var(--bar);stroke:var(--accent);stroke-width:.8" })) },
  { key: "estimated", text: "estimated", icon: icon(svg("circle", { cx: 11, cy: 6, r: 4, style: "fill:var(--accent)" })) },
  { key: "true", text: "true", icon: icon(svg("line", { x1: 11, x2: 11, y1: 0.5, y2: 11.5, style: "stroke:var(--ink);stroke-width:2.4" })) },
] : []);

function drawRanking({ root, selection, state, width, hidden, mark, paper }) {
  const { run } = rankingChoice(selection, state);
  if (!run || !run.names.length) return 0;
  const n = run.names.length, across = n > 25 && width >= 760 ? 2 : 1, gap = 26;
  const down = Math.ceil(n / across), h = paper ? Math.min(18, Math.max(9, Math.floor(390 / down))) : 18;  // paper: one page
  const columnWidth = (width - gap * (across - 1)) / across;
  const left = Math.min(0.42 * columnWidth, 40 + Math.max(...run.names.map(textWidth)));
  const top = 22;
  const most = (...series) => Math.max(0, ...series.flatMap(([key, values]) => (hidden.has(key) ? [] : values.filter(isNumber))));
  const inner = most(["estimated", run.estimated], ["true", run.true], ["bounds", run.low]);
  // bounds far beyond all the rest would squeeze it: they end in an arrow, and the tooltip says where
  const end = 1.04 * Math.min(Math.max(inner, most(["bounds", run.high])), inner ? DATA.reach * inner : Infinity) || 1;
  const ranks = run.true.map((value) => 1 + run.true.filter((other) => other < value).length);
  const { title, unit } = DATA.measures[run.measure];
  const proved = (value) => (isNumber(value) ? number(value) : "not proved");
  for (let column = 0; column < across; column += 1) {
    const first = column * down, last = Math.min(n, first + down), dx = column * (columnWidth + gap);
    const box = { left: dx + left, right: dx + columnWidth - 10, top, bottom: top + down * h };
    const x = linear(0, end, box.left, box.right);
    for (let i = first; i < last; i += 1) {
      if ((i - first) % 2 === 0) root.append(svg("rect", { x: dx, y: top + (i - first) * h, width: columnWidth, height: h, style: "fill:var(--stripe)" }));
    }
    axes(root, x, null, box, { xTitle: `PUD by ${title.toLowerCase()}${unit ? ` (${unit})` : ""}, less is better`, xTicks: columnWidth > 560 ? 7 : 4 });
    for (const tick of x.ticks(columnWidth > 560 ? 7 : 4)) root.append(svg("text", { class: "tick", x: x(tick), y: top - 6, "text-anchor": "middle" }, number(tick)));
    for (let i = first; i < last; i += 1) {
      const middle = top + (i - first + 0.5) * h, name = run.names[i], thick = Math.min(9, h - 5);
      const low = run.low[i], high = run.high[i];
      const size = h < 13 ? "font-size:8.5px;" : "";
      const group = svg("g", { "data-place": run.ranks[i] }, svg("rect", { x: dx, y: middle - h / 2, width: columnWidth, height: h, style: "fill:transparent" }),
        svg("text", { class: "soft", x: dx + 24, y: middle + 4, "text-anchor": "end", style: size }, String(run.ranks[i])),
        svg("text", { x: dx + 32, y: middle + 4, style: `${size}${name === run.best ? "font-weight:700" : ""}` }, cut(name, left - 38)));
      if (!hidden.has("bounds") && (isNumber(low) || isNumber(high))) {
        const whole = isNumber(high) && high <= end, from = x(low ?? 0), to = whole ? x(high) : box.right;
        group.append(svg("rect", { class: "bounds", x: from, y: middle - thick / 2, width: Math.max(1.5, to - from), height: thick, rx: 2, style: "fill:var(--bar);stroke:var(--accent);stroke-width:.8" }));
        if (!whole) group.append(svg("path", { d: `M${to} ${middle - thick / 2 - 2}l7 ${thick / 2 + 2}l-7 ${thick / 2 + 2}Z`, style: "fill:var(--accent);opacity:.6" }));
      }
      if (!hidden.has("true")) group.append(svg("line", { class: "true", x1: x(run.true[i]), x2: x(run.true[i]), y1: middle - h / 2 + 1.5, y2: middle + h / 2 - 1.5, style: "stroke:var(--ink);stroke-width:2.4" }));
      if (!hidden.has("estimated")) group.append(svg("circle", { class: "estimated", cx: x(run.estimated[i]), cy: middle, r: h < 13 ? 3 : 4, style: `fill:${colour(run.variant)};stroke:var(--card);stroke-width:1` }));
      root.append(mark(group, name, [["rank", String(run.ranks[i])], ["estimated PUD", number(run.estimated[i])], ["proved at least", proved(low)],
        ["proved at most", proved(high)], ["true PUD", number(run.true[i])], ["true rank", String(ranks[i])]]));
    }
  }
  return top + down * h + 42;
}
