// Keys of one letter. Who speaks to the computer, or strays on the keyboard, can switch them off (WCAG 2.1.4).

import { h } from "../core/dom.js";
import { ofBrowser } from "../core/storage.js";

const OFF = "samekind.shortcuts.off";

/** actions: by key, such as {s: f, " ": g}, until signal. Not while one writes or a dialog is open. */
export function onKeys(actions, signal) {
  document.addEventListener("keydown", (event) => {
    if (ofBrowser.getItem(OFF) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
    if (event.key === " " && event.target.closest("a, button, input, summary")) return; // it presses these
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }, { signal });
}

export function shortcutSwitch() {
  const box = h("input", { type: "checkbox", checked: !ofBrowser.getItem(OFF), on: { change: () => {
    if (box.checked) ofBrowser.removeItem(OFF);
    else ofBrowser.setItem(OFF, "1");
  } } });
  return h("label", { class: "choice" }, box, "Keys S, D, C, N, U");
}
