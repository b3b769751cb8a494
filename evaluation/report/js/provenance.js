// Where a row comes from: what a click on it lays open.

function clickRow(event) {
  if (event.target.closest("button, a, input, label, .details")) return;
  if (String(getSelection())) return; // somebody marks text to copy it
  const row = event.target.closest("tr.agent");
  if (row) toggleRow(row.dataset.agent);
}

function toggleRow(key) {
  if (!state.open.delete(key)) state.open.add(key);
  drawRanking();
}

function detailRow(row, width) {
  return make("tr", { class: "details" }, make("td", { colspan: width }, provenance(row)));
}

function provenance(row) {
  const facts = [["Agent", row.agent], ["Authors", row.authors || NOTHING], ["Link", linkOf(row)]];
  return make("div", { class: "provenance" }, make("dl", {}, definitions([...facts, ...(row.provenance ?? [])])));
}

function linkOf({ link }) {
  const address = webAddress(link);
  if (address === null) return link || NOTHING;
  return make("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, link);
}

function printedProvenance() {
  return make("div", { class: "printed" }, make("h2", {}, "Provenance"), rows().map(provenance));
}
