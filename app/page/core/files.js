// Files that people choose or drop, folders with all that is in them; and files for them to keep.

import { h } from "./dom.js";

const PICTURES = "image/*,.heic,.heif,.avif,.tif,.tiff"; // the latter have no type on some systems
const PICTURE_NAME = /\.(jpe?g|png|webp|gif|tiff?|bmp|avif|hei[cf])$/i;

/** A button that chooses a picture, as a label so that the field itself can be reached by all means. */
export function fileButton(text, onFile, kind = "") {
  const field = h("input", { type: "file", accept: PICTURES, class: "hidden-text" });
  field.addEventListener("change", () => field.files.length && onFile(field.files[0]));
  return h("label", { class: `button file-button ${kind}` }, text, field);
}

/** Lets the person choose files, or a folder. Resolves with a list as of `filesOf`; never, if nothing is chosen. */
export function choose({ folder = false } = {}) {
  return new Promise((resolve) => {
    const accept = folder ? null : PICTURES;
    const input = h("input", { type: "file", multiple: true, accept, webkitdirectory: folder });
    input.addEventListener("change", () => resolve(pictures([...input.files].map((file) => {
      const folders = file.webkitRelativePath.split("/");
      return { file, folder: folders.at(-2) ?? null };
    }))));
    input.click();
  });
}

/** What is dropped: [{file, folder}], folder: the name of the one it lay in, null: none was dropped. */
export async function filesOf(transfer) {
  // Before anything is awaited: then the browser has forgotten what was dropped. Not everything has an entry.
  const dropped = [...transfer.items].filter(({ kind }) => kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = await Promise.all(dropped.map(({ entry, file }) =>
    entry ? within(entry, null) : [{ file, folder: null }]));
  return pictures(found.flat());
}

/** Leaves a Blob where this browser keeps downloads. */
export function save(content, name) {
  const address = URL.createObjectURL(content);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // when the download has surely begun
}

async function within(entry, folder) {
  if (entry.isFile) return [{ file: await promised((...done) => entry.file(...done)), folder }];
  const reader = entry.createReader();
  const inside = [];
  for (let some; (some = await promised((...done) => reader.readEntries(...done))).length; ) {
    for (const each of some) inside.push(...(await within(each, entry.name)));
  }
  return inside;
}

/** Of a folder only the pictures; what was taken one by one is all meant, and the service says what it thinks of it. */
function pictures(found) {
  return found.filter(({ file, folder }) => folder === null || isPicture(file));
}

function isPicture(file) {
  return !file.name.startsWith(".") && (file.type.startsWith("image/") || PICTURE_NAME.test(file.name));
}

function promised(call) {
  return new Promise((resolve, reject) => call(resolve, reject));
}
