// Lists that go on while one scrolls.

import { h, replace } from "../core/dom.js";

/** An element for below a list. load: async, told to bring more whenever the element comes near the screen, until it
 *  says that there is no more (false). */
export function endless(load, signal) {
  const element = h("div", { class: "endless" });
  // Several entries come at once when the page was busy; the last one holds.
  const near = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && more(), { rootMargin: "800px" });
  signal.addEventListener("abort", () => near.disconnect());

  async function more() {
    near.unobserve(element);
    replace(element, h("p", { class: "faint", role: "status" }, "Loading…"));
    try {
      const goesOn = await load();
      replace(element);
      if (goesOn && !signal.aborted) near.observe(element); // which tells at once whether it is still near
    } catch (error) {
      if (signal.aborted) return;
      replace(element, h("p", { class: "bad", role: "alert" }, error.message),
        h("button", { type: "button", on: { click: more } }, "Try again"));
    }
  }

  near.observe(element);
  return element;
}
