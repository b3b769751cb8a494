// Numbers and names as people read them.

const NOTHING = "–";
const MINUS = "\u2212";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function fixed(value, digits) {
  if (!isNumber(value)) return NOTHING;
  const text = Math.abs(value).toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** Three figures that matter, whatever the size. */
function short(value) {
  if (!isNumber(value)) return NOTHING;
  const size = Math.abs(value);
  if (size > 0 && size < 0.001) return `${value < 0 ? MINUS : ""}<0.001`;
  return fixed(value, decimals(size));
}

const decimals = (size) => (size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);

/** Writes numbers with as many decimals as the largest of these needs, so that they line up. */
function alike(values) {
  const digits = decimals(Math.max(0, ...values.filter(isNumber).map(Math.abs)));
  return (value) => fixed(value, digits);
}

function signed(value, write = short) {
  return isNumber(value) && value > 0 ? `+${write(value)}` : write(value);
}

function range(low, high, write = short) {
  return isNumber(low) && isNumber(high) ? `[${write(low)}, ${write(high)}]` : "";
}

function pValue(value) {
  if (!isNumber(value)) return NOTHING;
  return value < 0.001 ? "<0.001" : fixed(value, 3);
}

/** Estimate, low and high of `[e, l, h]` or of a number alone, each a number or null. */
function triple(values) {
  const [estimate = null, low = null, high = null] = [values ?? []].flat();
  return { estimate, low, high };
}

/** "PeriodicGP-RideShare-v0" is "RideShare" where that is not ambiguous. */
function shortNames(names) {
  const shorter = names.map((name) => name.replace(/^PeriodicGP-/, "").replace(/-v\d+/, ""));
  return new Set(shorter).size === names.length ? shorter : names;
}

/** Where a long name in CamelCase may be broken. */
function breakable(name) {
  return name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** For Plotly, whose labels understand a little HTML and %{} fields. */
function plotlyText(text, length = 28) {
  const entity = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "%": "&#37;" };
  return cut(text, length).replace(/[&<>"'%]/g, (character) => entity[character]);
}

/** The address if it is a web address, else null: "javascript:" must never become a link. */
function webAddress(text) {
  if (typeof text !== "string" || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
