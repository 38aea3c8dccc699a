// Elements, numbers and menus.
const DATA = JSON.parse(document.getElementById("data").textContent);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style") node.style.cssText = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

const isNumber = (value) => typeof value === "number";

function number(value, digits = 4) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(1).replace("e-", "e−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}
function seconds(value) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${number(value * 1e6, 3)} µs`;
  if (value < 1) return `${number(value * 1e3, 3)} ms`;
  return value < 120 ? `${number(value, 3)} s` : `${number(value / 60, 3)} min`;
}
const percent = (value) => (isNumber(value) ? `${number(100 * value, 3)} %` : "–");
const count = (value) => (isNumber(value) ? value.toLocaleString("en-US") : "–");
const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
const histograms = (used) => (used ? "with histograms" : "without histograms");

function menu(title, values, chosen, onchange) {
  const select = el("select", {}, ...values.map(([value, text]) => el("option", { value }, text)));
  select.value = chosen;
  const label = el("label", {}, title, select);
  const said = () => label.setAttribute("data-value", select.selectedOptions[0].textContent);  // what paper shows
  said();
  select.addEventListener("change", () => {
    said();
    onchange(select.value);
  });
  return label;
}
