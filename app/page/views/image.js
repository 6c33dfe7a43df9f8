// One picture: large, with what is known about it and what is near it.

import { to } from "../core/addresses.js";
import { at, blob, get, post } from "../core/api.js";
import { foreign, h, isolated, replace } from "../core/dom.js";
import { save } from "../core/files.js";
import { tell } from "../core/notices.js";
import { describe, isShownByBrowsers, nameOf, picture } from "../core/pictures.js";
import { fitToRole } from "../core/roles.js";
import { moment, size } from "../core/words.js";
import { deleteImages, edit } from "../components/edit.js";
import { resultsGrid } from "../components/results.js";

export const title = "Picture";

const NEIGHBOURS = 24; // at once
const LONG = 200; // characters of a value that are shown without asking

export async function show(root, parameters, signal) {
  const id = parameters.get("id") ?? "";
  const about = h("div", { class: "about-image" });
  root.append(about);
  try {
    const image = await get(at`/v1/images/${id}`, { signal });
    const results = neighbours(image, signal);
    fitToRole(root);
    showImage(about, image, results.judge);
    root.append(h("section", { class: "neighbours", "aria-label": "Neighbours" },
      h("h2", {}, "Nearest to it"), results.element));
  } catch (error) {
    if (signal.aborted) return;
    replace(about, missing(error));
  }
}

/** onCategory: told the category when it is changed. */
function showImage(about, image, onCategory) {
  document.title = `${isolated(nameOf(image), 60)} · Samekind`;
  replace(about,
    large(image),
    h("div", { class: "known" },
      h("h1", {}, foreign(nameOf(image))),
      category(image.category),
      actions(about, image, onCategory),
      facts(image),
      image.metadata && Object.keys(image.metadata).length > 0 && metadata(image.metadata),
    ));
}

function category(name) {
  if (name === null) return h("p", { class: "faint" }, "No category");
  return h("p", {}, h("a", { class: "chip", href: to("collection", { category: name }) }, foreign(name)));
}

function large(image) {
  const isShown = isShownByBrowsers(image);
  return h("figure", { style: { "--ratio": image.width / image.height } },
    picture(image.links, describe(image), { whole: isShown }),
    !isShown && h("figcaption", { class: "faint small" },
      `Browsers do not show ${image.media_type}: this is a small version.`));
}

function actions(about, image, onCategory) {
  const change = async () => {
    const changed = await edit(image);
    if (changed) {
      showImage(about, changed, onCategory);
      onCategory(changed.category);
    }
    about.querySelector(".edit").focus();
  };
  const erase = async () => {
    const isGone = (await deleteImages([image])).length > 0;
    if (isGone && about.isConnected) location.replace(to("collection")); // going back would lead to nothing
  };
  return h("div", { class: "choices" },
    h("a", { class: "button primary", href: to("search", { image: image.id }) }, "Search by this"),
    h("button", { type: "button", class: "edit for-writers", on: { click: () => change().catch(tell) } }, "Edit"),
    h("button", { type: "button", on: { click: () => download(image).catch(tell) } }, "Download"),
    h("button", { type: "button", class: "for-writers", on: { click: () => erase().catch(tell) } }, "Delete"),
  );
}

/** By fetching it, since an address cannot carry a key. */
async function download(image) {
  save(await blob(image.links.file), image.id);
}

function facts(image) {
  const rows = {
    Size: `${image.width} × ${image.height} pixels`,
    File: `${image.media_type.replace("image/", "").toUpperCase()}, ${size(image.byte_size)}`,
    Added: moment(image.created),
    Changed: image.updated && moment(image.updated),
    Id: h("code", {}, image.id),
  };
  return h("dl", {}, Object.entries(rows).filter(([, value]) => value).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function metadata(members) {
  return [
    h("h2", {}, "Metadata"),
    h("dl", {}, Object.entries(members).map(([name, value]) =>
      h("div", {}, h("dt", {}, foreign(name, 100)), h("dd", {}, shown(name, value))))),
  ];
}

/** A value, with a way to the others that have it. */
function shown(name, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length > LONG) {
    return h("details", {}, h("summary", {}, foreign(text, LONG)), foreign(text, Infinity));
  }
  if (typeof value === "object" && value !== null) return foreign(text);
  const others = to("collection", { metadata: JSON.stringify({ [name]: value }) });
  return h("a", { href: others, title: "All that have the same" }, foreign(text));
}

function neighbours(image, signal) {
  const pageOf = (offset) =>
    post("/v1/search", { by: "image", image_id: image.id, k: NEIGHBOURS, offset }, { signal });
  return resultsGrid({ pageOf, query: { reference: image.id, category: image.category }, signal });
}

function missing(error) {
  return h("div", { class: "empty" },
    h("h1", {}, "No picture"),
    h("p", {}, error.message),
    h("p", {}, h("a", { class: "button", href: to("collection") }, "To the collection")),
  );
}
