// Where a search begins: a picture of one's own, or one of the collection.

import { queryText, to } from "../core/addresses.js";
import { get } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { fileButton } from "../core/files.js";
import { tell } from "../core/notices.js";
import { describe, picture } from "../core/pictures.js";

const CATEGORIES = 6; // of which some pictures are shown
const OF_EACH = 2;

/** note: what went before, such as a file that is gone. */
export function starter(onFile, note, signal) {
  const strip = h("section", { class: "strip", "aria-label": "From the collection" });
  showStrip(strip, signal).catch((error) => signal.aborted || tell(error));
  return [
    h("div", { class: "start" },
      note && h("p", { class: "card", role: "status" }, note),
      h("h1", {}, "Find pictures of the same kind"),
      h("p", { class: "faint" }, "Drop a picture anywhere here, paste one, or"),
      fileButton("Choose a picture", onFile, "primary"),
    ),
    strip,
  ];
}

async function showStrip(strip, signal) {
  const images = await someImages(signal);
  const others = () => showStrip(strip, signal).catch(tell);
  if (signal.aborted) return;
  if (!images.length) {
    replace(strip, h("p", { class: "empty" }, "Nothing is in the collection yet: ",
      h("a", { href: to("collection") }, "add pictures"), ", then search among them."));
    return;
  }
  replace(strip,
    h("div", { class: "strip-head" },
      h("h2", {}, "Or take one from the collection"),
      h("button", { type: "button", class: "quiet", on: { click: others } }, "Others"),
    ),
    h("ul", { class: "grid", role: "list" }, images.map(choice)),
  );
}

function choice(image) {
  const href = to("search", { image: image.id });
  return h("li", { class: "tile" },
    h("a", { href, "aria-label": `Search by ${describe(image)}` }, picture(image.links, "")));
}

/** Of several categories, so that there is something for everybody; others each time. */
async function someImages(signal) {
  const { categories } = await get("/v1/categories", { signal });
  const names = categories.length ? shuffled(categories).slice(0, CATEGORIES).map(({ name }) => name) : [null];
  const limit = names.length < CATEGORIES ? CATEGORIES * OF_EACH : OF_EACH;
  const pages = await Promise.all(names.map((category) =>
    get(`/v1/images?${queryText({ limit, category })}`, { signal })));
  return pages.flatMap(({ images }) => images).slice(0, CATEGORIES * OF_EACH);
}

function shuffled(values) {
  return values.map((value) => [Math.random(), value]).sort(([a], [b]) => a - b).map(([, value]) => value);
}
