// What all figures share: scales, axes, shapes, legends, and marks that respond to pointer and arrow keys.
const VARIANT = Object.fromEntries(DATA.variants.map((variant, i) => [variant.name, { ...variant, i }]));
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const colour = (name) => `var(--c${VARIANT[name].colour})`;
const dash = (name) => DASHES[Math.floor(VARIANT[name].i / 7) % DASHES.length];

const linear = (from, to, low, high) => {
  const scale = (value) => low + ((value - from) / (to - from || 1)) * (high - low);
  return Object.assign(scale, { from, to, ticks: (n) => linearTicks(from, to, n) });
};
const logarithmic = (from, to, low, high) => {
  const inner = linear(Math.log10(from), Math.log10(to), low, high);
  const scale = (value) => inner(Math.log10(value));
  return Object.assign(scale, { from, to, ticks: (n) => logTicks(from, to, n) });
};

function linearTicks(from, to, n) {
  const rough = (to - from || 1) / Math.max(1, n);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}
function logTicks(from, to, n) {
  const decades = Math.log10(to / from);
  const factors = decades <= n / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / n));
  const ticks = [];
  for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e += 1) {
    if (e % every) continue;
    for (const factor of factors) {
      const tick = factor * 10 ** e;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  return ticks.length < 3 ? linearTicks(from, to, Math.min(n, 5)) : ticks;  // less than a decade
}

function axes(root, x, y, box, { xTitle, yTitle, xText = number, yText = number, xTicks = 6, yTicks = 5 }) {
  for (const tick of x.ticks(xTicks)) {
    root.append(svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }),
      svg("text", { class: "tick", x: x(tick), y: box.bottom + 15, "text-anchor": "middle" }, xText(tick)));
  }
  if (y) for (const tick of y.ticks(yTicks)) {
    root.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)));
  }
  root.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  if (xTitle) root.append(svg("text", { class: "axis-title", x: (box.left + box.right) / 2, y: box.bottom + 33, "text-anchor": "middle" }, xTitle));
  if (yTitle) root.append(svg("text", { class: "axis-title", "text-anchor": "middle", transform: `translate(${box.left - 42} ${(box.top + box.bottom) / 2}) rotate(-90)` }, yTitle));
}

const PATHS = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  square: (r) => `M${-0.88 * r} ${-0.88 * r}h${1.76 * r}v${1.76 * r}h${-1.76 * r}Z`,
  triangle: (r) => `M0 ${-1.15 * r}L${1.1 * r} ${0.8 * r}H${-1.1 * r}Z`,
  nabla: (r) => `M0 ${1.15 * r}L${1.1 * r} ${-0.8 * r}H${-1.1 * r}Z`,
  diamond: (r) => `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0Z`,
  cross: (r) => `M${-r} ${-0.4 * r}h${0.6 * r}v${-0.6 * r}h${0.8 * r}v${0.6 * r}h${0.6 * r}v${0.8 * r}h${-0.6 * r}v${0.6 * r}h${-0.8 * r}v${-0.6 * r}h${-0.6 * r}Z`,
};
function symbol(name, x, y, filled, r = 5.5) {
  return svg("path", { d: PATHS[VARIANT[name].shape](r), transform: `translate(${x} ${y})`, "data-series": name,
    style: `fill:${filled ? colour(name) : "var(--card)"};stroke:${colour(name)};stroke-width:1.7` });
}

const textWidth = (text) => 6.8 * text.length;
function cut(text, width) {
  const longest = Math.max(4, Math.floor(width / 6.8));
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

// A figure redraws itself when the selection, the width or its legend changes.
function makeFigure({ id, title, caption, wide, legend, menus, remark, empty = "Nothing to draw for this data set and scope.", draw }) {
  const hidden = new Set();
  const state = {};  // what the reader chose from the figure's own menus
  const choices = el("div", { class: "controls" });
  const said = el("p", { class: "remark" });
  const note = el("p", { class: "note" });
  const buttons = el("div", { class: "legend", role: "group", "aria-label": "Show or hide" });
  const plot = el("div", { class: "plot" });
  const card = el("figure", { class: `card${wide ? " wide" : ""}`, id: `figure-${id}`, style: "margin:0", "aria-label": title },
    el("h3", {}, title), el("p", {}, caption), menus ? choices : null, remark ? said : null, buttons, plot, note);
  let selection = null;

  function redraw(paper = false) {
    const width = paper ? (wide ? 980 : 480) : Math.max(300, Math.floor(plot.clientWidth));
    const root = svg("svg", { role: "application", tabindex: "0", "aria-label": `${title}. Arrow keys move through the values.` });
    const marks = [];
    const mark = (node, name, facts) => {
      node.classList.add("mark");
      marks.push({ node, name, facts });
      node.addEventListener("pointermove", (event) => tip.show(name, facts, event.clientX, event.clientY));
      node.addEventListener("pointerleave", () => tip.hide());
      return node;
    };
    const height = draw({ root, selection, state, width, hidden, mark, paper });
    if (!height) {
      plot.replaceChildren(el("p", { class: "empty" }, empty));
      return;
    }
    const full = root.viewWidth || width;
    root.setAttribute("viewBox", `0 0 ${full} ${height}`);
    if (full > width && !paper) root.style.minWidth = `${full}px`;
    walk(root, marks);
    plot.replaceChildren(root);
  }

  function show(next) {
    selection = next;
    note.textContent = selection.notes[id];
    if (menus) {
      const at = [...choices.querySelectorAll("select")].indexOf(document.activeElement);
      choices.replaceChildren(...menus(selection, state, () => show(selection)));
      if (at >= 0) choices.querySelectorAll("select")[at].focus();
    }
    if (remark) said.textContent = remark(selection, state);
    buttons.replaceChildren(...legend(selection, state).map(({ key, text, icon }) =>
      el("button", { type: "button", "aria-pressed": String(!hidden.has(key)), "data-key": key, onclick: (event) => {
        if (!hidden.delete(key)) hidden.add(key);
        event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(key)));
        redraw();
      } }, icon, text)));
    redraw();
  }
  return { card, show, redraw };
}

function walk(root, marks) {
  let at = -1;
  const leave = () => {
    if (at >= 0) marks[at].node.classList.remove("active");
    tip.hide();
  };
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") leave();
    if (!step || !marks.length) return;
    event.preventDefault();
    leave();
    at = at < 0 && step < 0 ? marks.length - 1 : (at + step + marks.length) % marks.length;
    const { node, name, facts } = marks[at];
    node.classList.add("active");
    const place = node.getBoundingClientRect();
    tip.show(name, facts, place.right, place.bottom);
  });
  root.addEventListener("blur", leave);
}

const icon = (...nodes) => svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }, ...nodes);
const variantLegend = (names, lines) =>
  DATA.variants.filter(({ name }) => names.has(name)).map(({ name }) => ({
    key: name, text: name,
    icon: lines
      ? icon(svg("line", { x1: 1, x2: 21, y1: 6, y2: 6, style: `stroke:${colour(name)};stroke-width:2.5;stroke-dasharray:${dash(name)}` }), symbol(name, 11, 6, true, 3.5))
      : icon(symbol(name, 11, 6, true, 4.5)),
  }));
const histogramLegend = (items) => [true, false].filter((used) => items.some((item) => item.histogram === used)).map((used) => ({
  key: `histogram-${used}`, text: histograms(used),
  icon: icon(svg("rect", { x: 3, y: 2, width: 16, height: 8, rx: 1, style: `fill:${used ? "var(--soft)" : "var(--card)"};stroke:var(--soft);stroke-width:1.5` })),
}));
const visible = (hidden, items) => items.filter((item) => !hidden.has(item.variant) && !hidden.has(`histogram-${item.histogram}`));
const inOrder = (items) => items.slice().sort((a, b) => VARIANT[a.variant].i - VARIANT[b.variant].i || b.histogram - a.histogram);
const names = (items) => new Set(items.map((item) => item.variant));
