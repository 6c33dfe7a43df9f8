// Said where answers come from a model that nobody has taught.

import { h } from "../core/dom.js";

/** What to say; null of one that has learned. which: of what on this view, in the plural. */
export function untaught(trained, which) {
  return trained ? null
    : h("p", { class: "faint untaught" }, `Nothing has been learned yet: ${which} are by general likeness.`);
}
