// Tables that sort by a click on a heading and filter by words and menus.
const ROWS_SHOWN = 25;
const TEXTS = { text: String, category: String, count, number, share: percent, bar: (v) => number(v, 3), seconds };
const ALARMS = ["failed", "timed_out"];

function cell(column, value, largest) {
  const missing = value === null || value === "";
  const text = missing ? "–" : TEXTS[column.kind](value);
  const node = el("td", {}, text);
  if (column.kind === "text" || column.kind === "category") node.classList.add("text");
  if (text.length > 60) node.classList.add("long");
  if (missing || (column.kind === "count" && value === 0)) node.classList.add("none");
  if (ALARMS.includes(column.key) && value > 0) node.classList.add("alarm");
  if (column.key === "ran_on" && new Set(text.split(" of ")).size > 1) node.classList.add("alarm");
  if (column.kind === "bar" && isNumber(value)) {
    node.classList.add("bar-cell");
    node.style.setProperty("--fill", `${100 * Math.min(1, Math.max(0, value / largest))}%`);
  }
  if (isNumber(value) && column.kind !== "count") node.title = String(value);
  return node;
}

function compare(a, b) {
  return isNumber(a) && isNumber(b) ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function buildTable(table) {
  const state = { sort: null, descending: false, words: [], menus: {}, all: false };
  const index = Object.fromEntries(table.columns.map((column, i) => [column.key, i]));
  const largest = table.columns.map((column, i) =>
    column.kind === "bar" ? Math.max(1e-12, ...table.rows.map((row) => row[i] ?? 0)) : 1);
  const haystacks = table.rows.map((row) => row.map((value) => value ?? "").join(" ").toLowerCase());
  const body = el("tbody");
  const shown = el("span", { class: "count", role: "status" });
  const more = el("button", { type: "button", class: "button more", onclick: () => { state.all = !state.all; draw(); } });

  function draw(paper = false) {
    let rows = table.rows.filter((row, i) =>
      state.words.every((word) => haystacks[i].includes(word)) &&
      Object.entries(state.menus).every(([key, value]) => value === "" || String(row[index[key]]) === value));
    if (state.sort !== null) {
      const i = index[state.sort];
      const empty = (row) => row[i] === null || row[i] === "";  // last, whichever way round
      rows = rows.slice().sort((a, b) =>
        empty(a) - empty(b) || (empty(a) ? 0 : (state.descending ? -1 : 1) * compare(a[i], b[i])));
    }
    const visible = state.all || paper ? rows : rows.slice(0, ROWS_SHOWN);
    body.replaceChildren(...visible.map((row) =>
      el("tr", {}, ...row.map((value, i) => cell(table.columns[i], value, largest[i])))));
    if (!visible.length) {
      const text = table.rows.length ? "No row matches the filter." : "None.";
      body.append(el("tr", {}, el("td", { class: "text none", colspan: table.columns.length }, text)));
    }
    shown.textContent = `${count(visible.length)} of ${plural(table.rows.length, "row")}`;
    more.hidden = rows.length <= ROWS_SHOWN;
    more.textContent = state.all ? `Show the first ${ROWS_SHOWN}` : `Show all ${count(rows.length)} rows`;
  }

  const heads = table.columns.map((column) => {
    const text = ["text", "category"].includes(column.kind);
    const head = el("th", { scope: "col", class: text ? "text" : null, "aria-sort": "none", "data-key": column.key });
    head.append(el("button", { type: "button", title: column.help || null, onclick: () => {
      state.descending = state.sort === column.key && !state.descending;
      state.sort = column.key;
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      draw();
    } }, column.title));
    return head;
  });
  const menus = table.columns.filter((column) => column.kind === "category").map((column) => {
    const values = [...new Set(table.rows.map((row) => String(row[index[column.key]])))].sort();
    if (values.length < 2) return null;
    return menu(column.title, [["", "all"], ...values.map((value) => [value, value])], "", (value) => {
      state.menus[column.key] = value;
      draw();
    });
  });
  const search = el("input", { type: "search", placeholder: "words, all must occur", oninput: (event) => {
    state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    draw();
  } });
  draw();
  addEventListener("beforeprint", () => draw(true));  // paper has no button for more
  addEventListener("afterprint", () => draw());
  return el("div", { class: "card table-card", id: `table-${table.id}` },
    el("h3", {}, table.title), el("p", {}, table.note),
    el("div", { class: "controls" }, el("label", {}, "Filter", search), ...menus, shown),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title },
      el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
    more);
}
