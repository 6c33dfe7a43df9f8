// Files that are dropped on the page or pasted.

import { h } from "../core/dom.js";
import { notice } from "../core/notices.js";

/** hint: what letting go does. onDrop: told the DataTransfer, which is to be read before anything is awaited. */
export function takeDrops(root, hint, onDrop, signal) {
  const veil = h("div", { class: "veil", "aria-hidden": "true" }, h("p", {}, hint));
  let depth = 0; // every element that is dragged over enters and leaves

  function listen(name, listener) {
    const ofFiles = (event) => event.dataTransfer?.types.includes("Files") && listener(event);
    document.addEventListener(name, ofFiles, { signal });
  }

  function count(change) {
    depth = Math.max(0, depth + change);
    if (depth) root.append(veil);
    else veil.remove();
  }

  listen("dragenter", () => count(1));
  listen("dragleave", () => count(-1));
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event) => {
    event.preventDefault();
    count(-depth);
    onDrop(event.dataTransfer);
  });
}

/** One picture, dropped or pasted. onFile: told of each. */
export function takeIncoming(root, hint, onFile, signal) {
  takeDrops(root, hint, ({ files }) => takeOne(files, onFile), signal);
  document.addEventListener("paste", (event) => {
    const { files } = event.clipboardData;
    if (event.target.closest?.("input, textarea, dialog") && !files.length) return;
    takeOne(files, onFile);
  }, { signal });
}

function takeOne(files, onFile) {
  if (!files.length) return notice("There is no picture in that.", { kind: "error" });
  if (files.length > 1) notice("One picture at a time: this is the first of them.");
  onFile(files[0]);
}
