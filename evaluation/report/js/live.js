// Newer content, without a reload.

let tag = null;
let events = null;

function follow() {
  if (!("live" in document.documentElement.dataset)) return;
  document.addEventListener("visibilitychange", listen);
  listen();
}

/** A page that nobody sees holds no connection: browsers open only six to a server. */
function listen() {
  events?.close();
  if (document.hidden) return;
  events = new EventSource("/events");
  events.addEventListener("open", () => connected(true));
  events.addEventListener("error", () => connected(false));
  events.addEventListener("content", ask);
  events.addEventListener("progress", (event) => {
    state.content.progress = JSON.parse(event.data);
    drawProgress();
  });
}

async function ask() {
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch("/content.json", { headers, cache: "no-store" });
    if (answer.status !== 200) return;
    tag = answer.headers.get("ETag");
    setContent(await answer.json());
    drawEverything();
  } catch {
    connected(false);
  }
}

/** Said once; what is shown stays. */
function connected(here) {
  const text = here ? "" : "The server is gone; this is what it sent last.";
  if (find("#connection").textContent !== text) find("#connection").textContent = text;
}
