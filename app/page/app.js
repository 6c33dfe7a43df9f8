// The page: navigation, and the view that the address names.

import { here, to } from "./core/addresses.js";
import { get, onKeyNeeded } from "./core/api.js";
import { h, replace } from "./core/dom.js";
import { askForKey } from "./core/keys.js";
import { notice, tell } from "./core/notices.js";
import { counted } from "./core/words.js";

// Each exports title and show(root, parameters, signal): it fills root; signal aborts when the view is left.
const VIEWS = {
  search: () => import("./views/search.js"),
  collection: () => import("./views/collection.js"),
  image: () => import("./views/image.js"),
  teach: () => import("./views/teach.js"),
  models: () => import("./views/models.js"),
  map: () => import("./views/map.js"),
};
const NAVIGATION = { search: "Search", collection: "Collection", teach: "Teach", models: "Models", map: "Map" };

let left = new AbortController();

async function showView() {
  const { view, parameters } = here();
  const name = Object.hasOwn(VIEWS, view) ? view : "search";
  left.abort();
  left = new AbortController();
  const { signal } = left;
  mark(name);
  const root = h("div", { class: `view ${name}` });
  try {
    const module = await VIEWS[name]();
    if (signal.aborted) return;
    document.title = `${module.title} · Samekind`;
    replace(document.getElementById("main"), root);
    await module.show(root, parameters, signal);
  } catch (error) {
    if (!signal.aborted) tell(error);
  }
}

function mark(name) {
  replace(document.getElementById("navigation"), Object.entries(NAVIGATION).map(([view, label]) =>
    h("a", { href: to(view), "aria-current": view === name ? "page" : null }, label)));
}

/** Images and verdicts, in the header; views send `samekind:changed` after they changed something. */
async function showCounts() {
  try {
    const { images, pairs } = await get("/v1/stats");
    replace(document.getElementById("counts"), `${counted(images, "picture")} · ${counted(pairs, "verdict")}`);
  } catch (error) {
    if (error.status !== 401) tell(error);
  }
}

onKeyNeeded(askForKey);
document.getElementById("key").addEventListener("click", askForKey);
document.addEventListener("samekind:key", () => (showView(), showCounts()));
document.addEventListener("samekind:changed", showCounts);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is the view's
  document.getElementById("main").focus();
});
// Where no view takes a file that is dropped, the browser would show it instead of the page.
for (const event of ["dragover", "drop"]) {
  addEventListener(event, (drag) => drag.dataTransfer.types.includes("Files") && drag.preventDefault());
}
addEventListener("hashchange", showView);
addEventListener("unhandledrejection", (event) => tell(event.reason));
addEventListener("offline", () => notice("There is no network.", { kind: "error" }));
showView();
showCounts();
