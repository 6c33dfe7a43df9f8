// A field for a category: one of those that are there, or a new one.

import { get } from "../core/api.js";
import { h, isolated, replace } from "../core/dom.js";

const SHOWN_CHARACTERS = 60; // of a name in the list
let count = 0;

/** onChange: told the category, null: none. The element has `value`, and `refresh()`, which asks for the names again.
 *  allowNew: any text may be written. none: what to call no category. */
export function categoryField({
  value = null, onChange = () => {}, allowNew = false, label = "Category", none = allowNew ? "None" : "All categories",
}) {
  const id = `category-${++count}`;
  const options = h("datalist", { id: `${id}-names` });
  const control = allowNew
    ? h("input", { id, list: options.id, placeholder: none, autocomplete: "off", dir: "auto", value })
    : h("select", { id }, choice(""), value && choice(value));
  const element = h("div", { class: "category-field" }, h("label", { for: id }, label), control, allowNew && options);

  function choice(name, images = null) {
    const counted = images === null ? "" : ` (${images.toLocaleString()})`;
    const shown = name ? isolated(name, SHOWN_CHARACTERS) + counted : none;
    return h("option", { value: name }, allowNew ? null : shown);
  }

  async function refresh() {
    const { categories } = await get("/v1/categories");
    const now = control.value;
    const missing = !allowNew && now && !categories.some(({ name }) => name === now);
    replace(allowNew ? options : control, !allowNew && choice(""),
      categories.map(({ name, images }) => choice(name, images)), missing && choice(now));
    if (!allowNew) control.value = now;
  }

  if (!allowNew) control.value = value ?? "";
  control.addEventListener("change", () => onChange(element.value));
  Object.defineProperty(element, "value", {
    get: () => control.value || null,
    set: (name) => (control.value = name ?? ""),
  });
  element.refresh = () => refresh().catch(() => {}); // an aid: the field works without
  element.refresh();
  return element;
}
