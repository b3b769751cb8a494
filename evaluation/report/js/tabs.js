// The tab list pattern: arrows move, Home and End jump, one tab stop for all.

/**
 * @param list where the tabs go
 * @param items {key, label, title?, panel}: panel is the id of what the tab shows
 */
function drawTabs(list, { name, label, items, chosen, choose }) {
  const tabs = items.map((item, i) => {
    const selected = item.key === chosen;
    return make(
      "button",
      {
        type: "button",
        role: "tab",
        id: `${name}-tab-${i}`,
        title: item.title,
        "aria-selected": String(selected),
        "aria-controls": item.panel,
        tabindex: selected ? "0" : "-1",
        data: { key: `${name} ${item.key}` },
        on: { click: () => choose(item.key) },
      },
      item.label,
    );
  });
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", label);
  list.onkeydown = moveAlong;
  list.replaceChildren(...tabs);
}

function moveAlong(event) {
  const tabs = findAll('[role="tab"]', event.currentTarget);
  const now = tabs.indexOf(document.activeElement);
  const goal = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (goal === undefined || now < 0) return;
  event.preventDefault();
  const tab = tabs[(goal + tabs.length) % tabs.length];
  tab.focus();
  tab.click();
}
