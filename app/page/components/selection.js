// Several pictures chosen at once, and what can be done with them.

import { to } from "../core/addresses.js";
import { h, isolated, replace } from "../core/dom.js";
import { nameOf } from "../core/pictures.js";
import { deleteImages, edit, editCategories } from "./edit.js";
import { MOST_EXAMPLES } from "./examples.js";

/** element: a bar that shows itself while something is chosen. box(image): the check box of a tile.
 *  onChanged, onGone: told the images that were changed, the ids of those that are deleted. */
export function selection({ onChanged, onGone }) {
  const chosen = new Map(); // by id: {image, control}
  const element = h("div", { class: "selection for-writers", role: "region", "aria-label": "Selection" });

  function box(image) {
    const control = h("input", { type: "checkbox", "aria-label": `Select ${isolated(nameOf(image))}`, on: { change } });
    function change() {
      if (control.checked) chosen.set(image.id, { image, control });
      else chosen.delete(image.id);
      show();
    }
    return h("label", { class: "pick for-writers" }, control);
  }

  function show() {
    element.classList.toggle("some", chosen.size > 0);
    const ids = [...chosen.keys()];
    replace(element, chosen.size > 0 && [
      h("p", { role: "status" }, h("strong", { class: "number" }, String(chosen.size)), " selected"),
      h("button", { type: "button", on: { click: change } }, chosen.size === 1 ? "Edit" : "Set category"),
      ids.length <= MOST_EXAMPLES
        && h("a", { class: "button", href: to("search", { like: ids.join(",") }) }, "Search by these"),
      h("button", { type: "button", on: { click: erase } }, "Delete"),
      h("button", { type: "button", class: "quiet", on: { click: clear } }, "Clear"),
    ]);
  }

  async function change() {
    const images = [...chosen.values()].map(({ image }) => image);
    const changed = images.length === 1 ? [await edit(images[0])] : await editCategories(images);
    if (!changed?.[0]) return;
    clear();
    onChanged(changed);
  }

  async function erase() {
    const gone = await deleteImages([...chosen.values()].map(({ image }) => image));
    for (const id of gone) chosen.delete(id);
    show();
    if (gone.length) onGone(gone);
  }

  function clear() {
    for (const { control } of chosen.values()) control.checked = false;
    chosen.clear();
    show();
  }

  return { element, box, clear };
}
