// What the service holds: browsing, narrowing down, adding, and changing several at once.

import { queryText, settle } from "../core/addresses.js";
import { get } from "../core/api.js";
import { foreign, h, replace } from "../core/dom.js";
import { filesOf } from "../core/files.js";
import { fitToRole } from "../core/roles.js";
import { addPanel } from "../components/add.js";
import { categoryField } from "../components/category_field.js";
import { collectionTile } from "../components/collection_tile.js";
import { endless } from "../components/endless.js";
import { takeDrops } from "../components/incoming.js";
import { selection } from "../components/selection.js";

export const title = "Collection";

const PAGE = 60; // pictures
const LONGEST_PAGE = 1000;

export async function show(root, parameters, signal) {
  const listing = new Listing(parameters, signal);
  const { adding, field, filters, content, chosen } = listing;
  fitToRole(root);
  takeDrops(root, "Add these pictures", async (transfer) => adding.take(await filesOf(transfer)), signal);
  root.append(
    h("div", { class: "bar" }, h("h1", {}, title), field, filters,
      h("button", { type: "button", class: "primary for-writers", on: { click: () => adding.open() } },
        "Add pictures")),
    adding, content, chosen.element,
  );
  listing.list(history.state?.collection);
}

/** The pictures that agree with where, and what can be done with them. */
class Listing {
  #signal;
  #where; // {category, metadata}
  #listed = new AbortController();
  filters = h("div", { class: "filters" });
  content = h("div");

  constructor(parameters, signal) {
    this.#signal = signal;
    this.#where = { category: parameters.get("category"), metadata: parameters.get("metadata") };
    this.field = categoryField({ value: this.#where.category, onChange: (category) => this.#narrow({ category }) });
    this.chosen = selection({ onChanged: (images) => this.#renew(images), onGone: (ids) => this.#takeOut(ids) });
    this.adding = addPanel({ signal, onAdded: () => (this.field.refresh(), this.list()) });
  }

  /** Lists anew from the start. back: how far the list went when it was left, and the image it was left for. */
  list(back = null) {
    this.#listed.abort();
    this.#listed = new AbortController();
    this.chosen.clear();
    replace(this.filters, metadataChip(this.#where.metadata, () => this.#narrow({ metadata: null })));
    replace(this.content, pages(this.#where, {
      back, tileOf: (image) => this.#tileOf(image), onEmpty: () => this.#sayEmpty(),
      signal: AbortSignal.any([this.#signal, this.#listed.signal]),
    }));
  }

  #narrow(change) {
    Object.assign(this.#where, change);
    settle("collection", this.#where);
    this.list();
  }

  #tileOf(image) {
    return collectionTile(image, this.chosen.box(image));
  }

  #sayEmpty() {
    if (this.#where.category || this.#where.metadata) {
      replace(this.content, nothing(() => {
        this.field.value = null;
        this.#narrow({ category: null, metadata: null });
      }));
    } else {
      this.adding.open({ focus: false });
      replace(this.content, h("p", { class: "empty" },
        "There are no pictures here yet. The first ones that you add appear in this place."));
    }
  }

  #renew(images) {
    const { category } = this.#where;
    for (const image of images) {
      const former = this.content.querySelector(`[data-id="${image.id}"]`);
      if (category && image.category !== category) former?.remove();
      else former?.replaceWith(this.#tileOf(image));
    }
    this.field.refresh();
  }

  #takeOut(ids) {
    for (const id of ids) this.content.querySelector(`[data-id="${id}"]`)?.remove();
    this.field.refresh();
    if (!this.content.querySelector(".tile")) this.list();
  }
}

/** The list itself. */
function pages(where, { tileOf, back, onEmpty, signal }) {
  const grid = h("ul", { class: "grid", role: "list", "aria-label": "Pictures" });
  let cursor = null;
  let returning = back;

  async function load() {
    const limit = Math.min(Math.max(returning?.count ?? 0, PAGE), LONGEST_PAGE);
    const { images, next } = await get(`/v1/images?${queryText({ ...where, limit, cursor })}`, { signal });
    grid.append(...images.map(tileOf));
    cursor = next;
    if (!grid.children.length) onEmpty();
    if (returning) comeBack(grid, returning.id);
    returning = null;
    return next !== null;
  }

  // The history's entry keeps the place, so that going back from an image leads to where one was.
  grid.addEventListener("click", (event) => {
    const tile = event.target.closest("a")?.closest(".tile");
    if (tile) history.replaceState({ collection: { count: grid.children.length, id: tile.dataset.id } }, "");
  });
  return [grid, endless(load, signal)];
}

function comeBack(grid, id) {
  const link = grid.querySelector(`[data-id="${id}"] a`);
  link?.scrollIntoView({ block: "center" });
  link?.focus({ preventScroll: true });
}

function metadataChip(metadata, clear) {
  return metadata && h("span", { class: "chip" }, foreign(metadata, 60),
    h("button", { type: "button", class: "quiet", "aria-label": "Any metadata", on: { click: clear } }, "×"));
}

function nothing(showAll) {
  return h("div", { class: "empty" },
    h("p", {}, "No picture is like that."),
    h("button", { type: "button", on: { click: showAll } }, "Show all pictures"),
  );
}
