// Building the document. Strings become text nodes, never HTML: names are written by strangers.

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An element. `on` holds listeners, `data` the dataset, everything else is an attribute. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  const { on = {}, data = {}, ...plain } = attributes;
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  Object.assign(node.dataset, data);
  setAttributes(node, plain);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element of a drawing. */
function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(node, attributes);
  node.append(...children);
  return node;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

const unseen = (text) => make("span", { class: "unseen" }, text);

function button(text, action, attributes = {}) {
  return make("button", { type: "button", class: "control", ...attributes, on: { click: action } }, text);
}

/** The lines of a definition list: [[name, value], ...]. */
function definitions(facts) {
  const text = (value) => (value instanceof Node ? value : String(value ?? ""));
  return facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, text(value))));
}

/** A table in a box of its own that scrolls, also by the keyboard; `label` names both. */
function scrollingTable(label, attributes, head, body) {
  const table = make(
    "table",
    attributes,
    make("caption", { class: "unseen" }, label),
    make("thead", {}, make("tr", {}, head)),
    make("tbody", {}, body),
  );
  return make("div", { class: "scroller", role: "region", "aria-label": label, tabindex: "0" }, table);
}

/** Read aloud by screen readers, shown to nobody. */
function announce(text) {
  find("#status").textContent = text;
}

/** Redraw while the keyboard stays where it was: elements are known again by their data-key. */
function keepingFocus(redraw) {
  const key = document.activeElement?.dataset?.key;
  redraw();
  if (key === undefined || document.activeElement?.dataset?.key === key) return;
  findAll("[data-key]").find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
}
