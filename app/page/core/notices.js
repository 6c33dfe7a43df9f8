// Short messages at the edge of the screen, read out by screen readers.

import { h } from "./dom.js";

const SHOWN_MS = 8000;
const WITH_ACTION_MS = 20_000; // there is something to decide, perhaps by keyboard or with a screen reader

/** action: {label, run}, such as undo. kind: "done" or "error"; an error stays until it is dismissed. */
export function notice(text, { action = null, kind = "done" } = {}) {
  const close = () => element.remove();
  const element = h("div", { class: `notice ${kind}` },
    h("span", {}, text),
    action && h("button", { type: "button", on: { click: () => (close(), action.run()) } }, action.label),
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", on: { click: close } }, "×"),
  );
  const notices = document.getElementById("notices");
  if (kind === "error" && notices.lastChild?.firstChild.textContent === text) return; // it stands there already
  while (notices.children.length > 3) notices.firstChild.remove();
  notices.append(element);
  if (kind !== "error") fade(element, action ? WITH_ACTION_MS : SHOWN_MS);
}

/** Tells of an error; one that only says that the view was left is not told. */
export function tell(error) {
  if (error?.name !== "AbortError") notice(error?.message ?? String(error), { kind: "error" });
}

function fade(element, shownMs) {
  // Whoever is reading it or about to press its button keeps it.
  const timer = setInterval(() => {
    if (element.matches(":hover, :focus-within")) return;
    clearInterval(timer);
    element.remove();
  }, shownMs);
}
