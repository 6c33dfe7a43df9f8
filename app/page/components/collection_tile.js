// A stored image in a grid.

import { to } from "../core/addresses.js";
import { foreign, h } from "../core/dom.js";
import { describe, nameOf, picture } from "../core/pictures.js";

/** A list item. children: what else stands in it. It has `image`. */
export function collectionTile(image, ...children) {
  const element = h("li", { class: "tile", "data-id": image.id },
    h("a", { href: to("image", { id: image.id }), "aria-label": describe(image) }, picture(image.links, "")),
    children,
    h("div", { class: "about" },
      h("span", { class: "name" }, foreign(nameOf(image))),
      h("span", { class: "faint name" }, image.category === null ? "No category" : foreign(image.category)),
    ),
  );
  element.image = image;
  return element;
}
