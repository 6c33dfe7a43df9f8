// Asking for a key, once however many calls need one.

import { hasKey, setKey } from "./api.js";
import { dialog } from "./dialogs.js";
import { h } from "./dom.js";

let asking = null;

/** Whether a key was given. */
export function askForKey() {
  asking ??= ask().finally(() => (asking = null));
  return asking;
}

async function ask() {
  const field = h("input", {
    type: "password", id: "key-field", autocomplete: "off", required: true, spellcheck: "false",
  });
  const remember = h("input", { type: "checkbox" });
  const given = await dialog("Key", (close) => [
    h("p", {}, "This service asks for a key. Whoever runs it makes one with ",
      h("code", {}, "samekind keys create"), "."),
    h("form", { on: { submit: (event) => (event.preventDefault(), close(field.value.trim())) } },
      h("label", { for: "key-field" }, "Your key"), field,
      h("label", { class: "choice" }, remember, "Remember it in this browser"),
      h("div", { class: "actions" },
        hasKey() && h("button", { type: "button", class: "quiet", on: { click: () => close("") } }, "Forget the key"),
        h("button", { class: "primary" }, "Use this key"),
      ),
    ),
  ]);
  if (given === undefined) return false;
  setKey(given, remember.checked);
  document.dispatchEvent(new Event("samekind:key"));
  return given !== "";
}
