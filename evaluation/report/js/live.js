// Newer content, without a reload.

const EVERY_MS = 2000;
let tag = null;
let gone = false;

function follow() {
  if (!("live" in document.documentElement.dataset)) return;
  setTimeout(async () => {
    await ask();
    follow();
  }, EVERY_MS);
}

async function ask() {
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch("/content.json", { headers, cache: "no-store" });
    connected(true);
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
  if (gone === !here) return;
  gone = !here;
  find("#connection").textContent = here ? "" : "The server is gone; this is the last it told.";
}
