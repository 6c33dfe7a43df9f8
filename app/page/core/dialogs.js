// Modal dialogs, by the browser's own element: focus stays inside, Escape closes.

import { h } from "./dom.js";

/** Shows content until it is closed; resolves with what `close(value)` was given, undefined if it was dismissed.
 *  make: (close) => nodes. */
export function dialog(title, make) {
  return new Promise((resolve) => {
    let result;
    const close = (value) => {
      result = value;
      element.close();
    };
    const element = h("dialog", { "aria-label": title, closedby: "any" },
      h("header", {},
        h("h2", {}, title),
        h("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => close() } }, "×"),
      ),
      make(close),
    );
    const leave = () => close(); // it belongs to the view below it
    addEventListener("hashchange", leave);
    element.addEventListener("close", () => {
      removeEventListener("hashchange", leave);
      element.remove();
      resolve(result);
    });
    document.body.append(element);
    element.showModal();
  });
}

/** Whether the person agrees. */
export async function agreed(title, text, { yes = "Yes", dangerous = false } = {}) {
  const answer = await dialog(title, (close) => [
    h("p", {}, text),
    h("div", { class: "actions" },
      h("button", { type: "button", class: "quiet", on: { click: () => close(false) } }, "Cancel"),
      h("button", { type: "button", class: dangerous ? "danger" : "primary", on: { click: () => close(true) } }, yes),
    ),
  ]);
  return answer === true;
}
