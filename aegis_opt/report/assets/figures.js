// The figures: distributions, trade-off, profiles, regret, estimates.
function drawBoxes({ root, selection, width, hidden, mark }) {
  const boxes = inOrder(visible(hidden, selection.boxes));
  if (!boxes.length) return 0;
  const variants = [...names(boxes)];
  const left = Math.min(0.36 * width, 14 + Math.max(...variants.map(textWidth)));
  const right = width - 48;
  const most = Math.max(...selection.boxes.map((box) => Math.max(box.high, ...box.dots)));
  const x = linear(0, Math.min(1, most * 1.03) || 1, left, right);
  const rows = variants.map((name) => boxes.filter((box) => box.variant === name));
  const size = 15;
  let y = 16;
  const places = rows.map((row) => { const top = y; y += size * row.length + 10; return top; });
  axes(root, x, null, { left, right, top: 10, bottom: y }, { xTitle: "TVD to the raw joint table (less is better)", xTicks: width > 700 ? 10 : 5 });
  root.append(svg("text", { class: "soft", x: width - 4, y: 8, "text-anchor": "end" }, "n"));
  rows.forEach((row, i) => {
    const name = variants[i];
    root.append(svg("text", { x: left - 8, y: places[i] + (size * row.length) / 2 + 4, "text-anchor": "end" }, cut(name, left - 8), svg("title", {}, name)));
    row.forEach((box, j) => {
      const middle = places[i] + size * (j + 0.5);
      const ink = colour(name);
      const group = svg("g", { "data-series": name, "data-histogram": box.histogram });
      const boxed = box.n >= DATA.few, wide = x(box.q3) - x(box.q1) > 6;
      group.append(svg("rect", { x: left, y: middle - size / 2, width: right - left, height: size, style: "fill:transparent" }));
      if (boxed) group.append(
        svg("line", { x1: x(box.low), x2: x(box.high), y1: middle, y2: middle, style: `stroke:${ink};stroke-width:1.4` }),
        svg("rect", { x: x(box.q1), y: middle - 5, width: Math.max(1.5, x(box.q3) - x(box.q1)), height: 10, rx: 1.5, style: `fill:${box.histogram ? ink : "var(--card)"};stroke:${ink};stroke-width:1.4` }));
      group.append(
        svg("line", { x1: x(box.median), x2: x(box.median), y1: middle - 5, y2: middle + 5, style: `stroke:${boxed && wide && box.histogram ? "var(--card)" : ink};stroke-width:2.2` }),
        ...box.dots.map((value) => svg("circle", { cx: x(value), cy: middle, r: boxed ? 2.1 : 3, style: `fill:${!boxed && box.histogram ? ink : "var(--card)"};stroke:${ink};stroke-width:1.2` })));
      root.append(mark(group, `${name}, ${histograms(box.histogram)}`, [
        ["median", number(box.median)], ["mean", number(box.mean)], ["quartiles", `${number(box.q1)} to ${number(box.q3)}`],
        ["whiskers", `${number(box.low)} to ${number(box.high)}`], [boxed ? "distinct outliers" : "distinct values", count(box.dots.length)],
        ["reconstructions", count(box.n)], ["of these penalised as 1", count(box.penalised)]]));
      root.append(svg("text", { class: "soft", x: width - 4, y: middle + 4, "text-anchor": "end" }, `${count(box.n)}${box.partial ? "*" : ""}`));
    });
  });
  return y + 42;
}

function drawPareto({ root, selection, width, hidden, mark }) {
  if (!selection.points.length) return 0;
  const height = 390;
  const box = { left: 58, right: width - 14, top: 14, bottom: height - 44 };
  const times = selection.points.map((point) => Math.max(point.seconds, 1e-6));
  const x = logarithmic(Math.min(...times) / 1.5, Math.max(...times) * 1.9, box.left, box.right);
  const y = linear(0, Math.min(1, 1.1 * Math.max(...selection.points.map((point) => point.tvd))) || 1, box.bottom, box.top);
  axes(root, x, y, box, { xTitle: "time per reconstruction (log scale)", yTitle: "mean TVD", xText: seconds, xTicks: width / 90 });
  root.append(svg("text", { class: "soft", x: box.left + 8, y: box.bottom - 8 }, "↙ better"));
  const points = inOrder(visible(hidden, selection.points));
  for (const used of [true, false]) {
    const front = points.filter((point) => point.histogram === used && point.front).sort((a, b) => a.seconds - b.seconds);
    const steps = front.map((point, i) => `${i ? `H${x(Math.max(point.seconds, 1e-6))}V` : `M${x(Math.max(point.seconds, 1e-6))} `}${y(point.tvd)}`).join("");
    if (front.length) root.append(svg("path", { class: "front", d: `${steps}H${box.right}`, style: `fill:none;stroke:var(--soft);stroke-width:1.6;opacity:.75;stroke-dasharray:${used ? "" : "5 4"}` }));
  }
  const taken = points.map((point) => { const px = x(Math.max(point.seconds, 1e-6)), py = y(point.tvd); return [px - 7, py - 7, px + 7, py + 7]; });
  for (const point of points) {
    const px = x(Math.max(point.seconds, 1e-6)), py = y(point.tvd);
    const node = symbol(point.variant, px, py, point.histogram, point.front ? 7 : 5.5);
    if (point.n < point.of) node.style.opacity = ".45";
    node.setAttribute("data-front", point.front);
    root.append(mark(node, `${point.variant}, ${histograms(point.histogram)}`, [
      ["mean TVD", number(point.tvd)], ["time", seconds(point.seconds)], ["problems tried", `${count(point.n)} of ${count(point.of)}`],
      ["penalised", count(point.penalised)], ["on the front", point.front ? "yes" : point.n < point.of ? "no: not tried on all" : "no"]]));
  }
  for (const point of points.slice().sort((a, b) => b.front - a.front)) {
    const px = x(Math.max(point.seconds, 1e-6)), py = y(point.tvd), w = 6 * point.variant.length;
    const spots = [[10, 4, "start", 10], [-10, 4, "end", -10 - w], [0, -12, "middle", -w / 2], [0, 20, "middle", -w / 2]];
    const spot = spots.find(([, dy, , start]) => {
      const area = [px + start, py + dy - 9, px + start + w, py + dy + 3];
      return area[0] > box.left && area[2] < box.right && area[1] > box.top && area[3] < box.bottom &&
        taken.every((other) => area[2] < other[0] || area[0] > other[2] || area[3] < other[1] || area[1] > other[3]);
    });
    if (!spot) continue;
    const [dx, dy, anchor, start] = spot;
    taken.push([px + start, py + dy - 9, px + start + w, py + dy + 3]);
    root.append(svg("text", { class: "soft halo", x: px + dx, y: py + dy, "text-anchor": anchor, "pointer-events": "none" }, point.variant));
  }
  return height;
}

const drawProfile = (key, words) => ({ root, selection, width, hidden, mark }) => {
  const profile = selection[key];
  if (!profile) return 0;
  const height = 340, last = profile.taus.length - 1;
  const box = { left: 58, right: width - 16, top: 14, bottom: height - 44 };
  const x = logarithmic(1, Math.max(profile.taus[last], 1.05), box.left, box.right);
  const y = linear(0, 1, box.bottom, box.top);
  axes(root, x, y, box, { xTitle: `factor of the best ${words} (log scale)`, yTitle: "share of problems", xText: (t) => `${number(t)}×`, yText: percent, xTicks: width / 90 });
  const shown = DATA.variants.map(({ name }) => name).filter((name) => name in profile.shares && !hidden.has(name));
  for (const name of shown) {
    const shares = profile.shares[name];
    const steps = profile.taus.map((tau, i) => (i ? `H${x(tau)}V${y(shares[i])}` : `M${x(tau)} ${y(shares[0])}`)).join("");
    root.append(svg("path", { d: steps, "data-series": name, style: `fill:none;stroke:${colour(name)};stroke-width:2.2;stroke-dasharray:${dash(name)}` }));
    for (const i of [0, Math.round(last / 3), Math.round((2 * last) / 3), last]) {
      const dot = symbol(name, x(profile.taus[i]), y(shares[i]), true, 3.8);
      dot.removeAttribute("data-series");
      root.append(dot);
    }
  }
  profile.taus.forEach((tau, i) => {  // a thin strip per factor answers with every curve's value
    const start = i ? (x(profile.taus[i - 1]) + x(tau)) / 2 : box.left - 6;
    const end = i < last ? (x(tau) + x(profile.taus[i + 1])) / 2 : box.right + 6;
    const strip = svg("rect", { class: "strip", x: start, y: box.top, width: Math.max(0.5, end - start), height: box.bottom - box.top, style: "fill:transparent" });
    const values = shown.map((name) => [name, profile.shares[name][i]]).sort((a, b) => b[1] - a[1]);
    root.append(mark(strip, `within ${number(tau)}× of the best`, values.map(([name, share]) => [name, percent(share)])));
  });
  return height;
};

function drawRegret({ root, selection, width, hidden, mark }) {
  const cells = inOrder(visible(hidden, selection.cells));
  if (!cells.length) return 0;
  const rowKey = (cell) => `${cell.variant}|${cell.histogram}`;
  const rows = [...new Map(cells.map((cell) => [rowKey(cell), cell])).values()];
  const columns = [...new Map(cells.map((cell) => [`${cell.dataset}|${cell.measure}`, cell])).values()]
    .sort((a, b) => a.dataset.localeCompare(b.dataset) || a.measure.localeCompare(b.measure));
  const label = (cell) => `${cell.variant}${cell.histogram ? "" : " (no hist.)"}`;
  const left = Math.min(0.4 * width, 14 + Math.max(...rows.map((row) => textWidth(label(row)))));
  const w = Math.max(52, Math.min(150, (width - left - 8) / columns.length)), h = 25, top = 46;
  root.viewWidth = Math.max(width, left + w * columns.length + 8);
  const place = new Map(columns.map((column, i) => [`${column.dataset}|${column.measure}`, left + i * w]));
  for (const dataset of new Set(columns.map((column) => column.dataset))) {
    const own = columns.filter((column) => column.dataset === dataset);
    const start = place.get(`${dataset}|${own[0].measure}`), end = start + own.length * w;
    root.append(svg("text", { x: (start + end) / 2, y: 14, "text-anchor": "middle", "font-weight": 600 }, cut(dataset, (end - start - 10) / 1.12), svg("title", {}, dataset)),
      svg("line", { class: "base", x1: start + 3, x2: end - 3, y1: 21, y2: 21 }));
  }
  for (const column of columns) {
    const [at] = [place.get(`${column.dataset}|${column.measure}`)];
    root.append(svg("text", { class: "tick", x: at + w / 2, y: 37, "text-anchor": "middle" }, cut(column.measure, w)));
  }
  rows.forEach((row, i) => root.append(svg("text", { x: left - 8, y: top + i * h + h / 2 + 4, "text-anchor": "end" }, cut(label(row), left - 8), svg("title", {}, label(row)))));
  for (const cell of cells) {
    const at = place.get(`${cell.dataset}|${cell.measure}`), y = top + rows.findIndex((row) => rowKey(row) === rowKey(cell)) * h;
    const known = isNumber(cell.share), part = known ? Math.min(1, Math.max(0, cell.share)) : 0;
    const worse = known && cell.share > 1.0005;
    const back = !known ? "var(--card)" : worse ? "var(--worse)" : `color-mix(in srgb, var(--heat-high) ${Math.round(100 * part)}%, var(--heat-low))`;
    const ink = worse || part > 0.5 ? "var(--heat-ink-high)" : "var(--heat-ink)";
    const group = svg("g", { "data-series": cell.variant, "data-histogram": cell.histogram },
      svg("rect", { x: at + 1, y: y + 1, width: w - 2, height: h - 2, rx: 2.5, style: `fill:${back};stroke:${known ? "none" : "var(--line)"}` }),
      svg("text", { x: at + w / 2, y: y + h / 2 + 4, "text-anchor": "middle", style: `fill:${ink};font-size:11px` },
        known ? `${number(cell.share, 2)}${cell.penalised ? "*" : ""}` : cell.n ? "=" : "–"));
    root.append(mark(group, `${cell.variant}, ${histograms(cell.histogram)}`, [
      ["data set", cell.dataset], ["measure", DATA.measures[cell.measure].title], ["regret / random", number(cell.share)],
      ["regret", `${number(cell.regret)} ${DATA.measures[cell.measure].unit}`], ["tau", number(cell.tau)], ["runs", count(cell.n)], ...(cell.note ? [["note", cell.note]] : [])]));
  }
  const bottom = top + rows.length * h + 12;
  const scale = [0, 0.25, 0.5, 0.75, 1];
  scale.forEach((value, i) => root.append(svg("rect", { x: left + i * 34, y: bottom, width: 34, height: 9, style: `fill:color-mix(in srgb, var(--heat-high) ${100 * value}%, var(--heat-low))` }),
    svg("text", { class: "tick", x: left + i * 34 + 17, y: bottom + 22, "text-anchor": "middle" }, number(value))));
  root.append(svg("rect", { x: left + 176, y: bottom, width: 34, height: 9, style: "fill:var(--worse)" }),
    svg("text", { class: "tick", x: left + 193, y: bottom + 22, "text-anchor": "middle" }, "> 1"));
  return bottom + 30;
}

function drawEstimates({ root, selection, width, hidden, mark }) {
  if (!selection.choices.length) return 0;
  const measures = [...new Set(selection.choices.map((choice) => choice.measure))].sort();
  const across = Math.max(1, Math.min(measures.length, Math.floor(width / 300)));
  const cellWidth = width / across, cellHeight = Math.min(cellWidth, 330);
  const points = inOrder(visible(hidden, selection.choices));
  measures.forEach((measure, i) => {
    const dx = (i % across) * cellWidth, dy = Math.floor(i / across) * cellHeight;
    const box = { left: dx + 60, right: dx + cellWidth - 14, top: dy + 26, bottom: dy + cellHeight - 46 };
    const own = selection.choices.filter((choice) => choice.measure === measure);
    const end = 1.06 * Math.max(...own.map((choice) => Math.max(choice.estimated, choice.true))) || 1;
    const x = linear(0, end, box.left, box.right), y = linear(0, end, box.bottom, box.top);
    const { title, unit } = DATA.measures[measure];
    axes(root, x, y, box, { xTitle: `true PUD${unit ? ` (${unit})` : ""}`, yTitle: "estimated PUD", xTicks: 4, yTicks: 4, xText: (t) => number(t, 3), yText: (t) => number(t, 3) });
    root.append(svg("text", { x: box.left, y: dy + 15, "font-weight": 600 }, cut(`${title}, n = ${own.length}`, cellWidth - 60)),
      svg("line", { x1: x(0), y1: y(0), x2: x(end), y2: y(end), style: "stroke:var(--soft);stroke-width:1;stroke-dasharray:4 4" }));
    for (const choice of points.filter((point) => point.measure === measure)) {
      root.append(mark(symbol(choice.variant, x(choice.true), y(choice.estimated), choice.histogram, 5),
        `${choice.variant}, ${histograms(choice.histogram)}`, [["data set", choice.dataset], ["winner", choice.best],
          ["estimated", number(choice.estimated)], ["true", number(choice.true)], ["least true PUD", number(choice.least)],
          ["certified", choice.certified ? "yes" : "no"], ["seed", String(choice.seed)]]));
    }
  });
  return Math.ceil(measures.length / across) * cellHeight;
}

const FIGURES = [
  { id: "tvd", title: "How far reconstructions are from the raw tables", wide: true,
    caption: "Boxes: quartiles and median. Whiskers: the last value within 1.5 interquartile ranges. Fewer than 5 values are drawn one by one. Filled: with histograms.",
    legend: (selection) => histogramLegend(selection.boxes), draw: drawBoxes },
  { id: "pareto", title: "Time against TVD", wide: true,
    caption: "Large marks are on the Pareto front: no other variant is both faster and closer. Solid line and filled marks: with histograms. Pale: not tried on all problems.",
    legend: (selection) => [...variantLegend(names(selection.points)), ...histogramLegend(selection.points)], draw: drawPareto },
  { id: "profile-time", title: "Performance profile: time",
    caption: "Share of the problems that a variant solves within a factor of the fastest variant. Higher is better.",
    legend: (selection) => variantLegend(new Set(Object.keys(selection.time_profile?.shares ?? {})), true), draw: drawProfile("time_profile", "time") },
  { id: "profile-tvd", title: "Performance profile: TVD",
    caption: "Share of the problems that a variant solves within a factor of the closest variant. Higher is better.",
    legend: (selection) => variantLegend(new Set(Object.keys(selection.tvd_profile?.shares ?? {})), true), draw: drawProfile("tvd_profile", "TVD") },
  { id: "regret", title: "Regret of the advice", wide: true,
    caption: "True PUD of the winner minus the least true PUD, divided by what a random choice loses. 0: the best configuration was found; 1: no better than chance; = : all configurations are equally good; –: not tried; *: some runs penalised.",
    legend: (selection) => histogramLegend(selection.cells), draw: drawRegret },
  { id: "ranking", title: "Ranking with bounds", wide: true,
    caption: "The configurations of one advisor run in order of the estimated PUD. Bar: where the true PUD provably lies. Arrow: the bar goes on beyond the scale, or no upper bound is proved.",
    empty: "There is no order to draw.",
    legend: rankingLegend, menus: rankingMenus, remark: (selection, state) => rankingChoice(selection, state).run?.remark ?? "", draw: drawRanking },
  { id: "estimate", title: "Estimated and true deviation of the winner", wide: true,
    caption: "On the dashed line the estimate is exact; above it, masking costs less than estimated. Filled: with histograms.",
    legend: (selection) => [...variantLegend(names(selection.choices)), ...histogramLegend(selection.choices)], draw: drawEstimates },
];
