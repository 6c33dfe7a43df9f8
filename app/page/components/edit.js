// Changing what is said about images, and deleting them.

import { at, patch, remove } from "../core/api.js";
import { agreed, dialog } from "../core/dialogs.js";
import { foreign, h, replace } from "../core/dom.js";
import { mergePatch } from "../core/merge_patch.js";
import { notice, tell } from "../core/notices.js";
import { nameOf } from "../core/pictures.js";
import { several } from "../core/several.js";
import { counted } from "../core/words.js";
import { categoryField } from "./category_field.js";
import { metadataFields } from "./metadata_fields.js";

const AT_ONCE = 4;

/** A dialog for one image's category and metadata. Resolves with the image as it is now; undefined: nothing changed. */
export function edit(image) {
  return dialog("Edit", (close) => {
    const category = categoryField({ value: image.category, allowNew: true });
    const metadata = metadataFields(image.metadata);
    return form(close, [category, h("h3", {}, "Metadata"), metadata], () => {
      const changes = mergePatch(
        { category: image.category, metadata: image.metadata },
        { category: category.value, metadata: metadata.read() },
      );
      return changes && patch(at`/v1/images/${image.id}`, changes);
    });
  });
}

/** A dialog for the category of several images. Resolves with the changed ones; undefined: it was dismissed. */
export function editCategories(images) {
  return dialog(`Category of ${counted(images.length, "picture")}`, (close) => {
    const category = categoryField({ allowNew: true });
    return form(close, [category], () =>
      each(images, (image) => patch(at`/v1/images/${image.id}`, { category: category.value })));
  });
}

/** Asks, then deletes. Resolves with the ids of those that are gone. */
export async function deleteImages(images) {
  const isOne = images.length === 1;
  const title = isOne ? "Delete this picture?" : `Delete ${counted(images.length, "picture")}?`;
  const text = [
    isOne ? foreign(nameOf(images[0]), 80) : "They",
    " will be gone from search at once, and so will all verdicts about ", isOne ? "it" : "them",
    ". This cannot be undone.",
  ];
  if (!(await agreed(title, text, { yes: "Delete", dangerous: true }))) return [];
  const gone = await each(images, async ({ id }) => {
    await remove(at`/v1/images/${id}`).catch((error) => {
      if (error.code !== "unknown_image") throw error; // else somebody was faster
    });
    return id;
  });
  if (gone.length) notice(`Deleted ${counted(gone.length, "picture")}.`);
  return gone;
}

/** fields, and buttons below them. save: async, what to close with; what it throws is told here. */
function form(close, fields, save) {
  const problem = h("p", { class: "bad", role: "alert" });
  const button = h("button", { class: "primary" }, "Save");
  const submit = async (event) => {
    event.preventDefault();
    replace(problem);
    button.disabled = true;
    try {
      close(await save());
      document.dispatchEvent(new Event("samekind:changed"));
    } catch (error) {
      replace(problem, error.message);
    }
    button.disabled = false;
  };
  return h("form", { on: { submit } }, fields, problem, h("div", { class: "actions" },
    h("button", { type: "button", class: "quiet", on: { click: () => close() } }, "Cancel"), button));
}

/** The results of those that went well; the first refusal is told. */
async function each(images, work) {
  const results = [];
  const refusals = [];
  await several(images, AT_ONCE, async (image) => {
    try {
      results.push(await work(image));
    } catch (error) {
      refusals.push(error);
    }
  });
  if (refusals.length === 1) tell(refusals[0]);
  else if (refusals.length) tell(`${refusals.length} were refused: ${refusals[0].message}`);
  document.dispatchEvent(new Event("samekind:changed"));
  return results;
}
