// What stands where there is nothing to show.

import { h } from "../core/dom.js";

/** actions: what to do next, as buttons and links. */
export function empty(headline, text, ...actions) {
  return h("div", { class: "empty" },
    h("h2", {}, headline), h("p", {}, text), h("div", { class: "actions centred" }, actions));
}
