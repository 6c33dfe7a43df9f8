// Adding many pictures: they are chosen or dropped, looked over, and sent when the person says so.

import { h, replace } from "../core/dom.js";
import { choose } from "../core/files.js";
import { local } from "../core/pictures.js";
import { counted, size } from "../core/words.js";
import { categoryField } from "./category_field.js";
import { Sending } from "./sending.js";

const PREVIEWS = 8;

/** A panel, hidden until `open()` or `take([{file, folder}])`. onAdded: told when some were added. */
export function addPanel({ signal, onAdded }) {
  const heading = h("h2", { tabindex: -1 }, "Add pictures");
  const staged = stagedFiles((items) => {
    heading.focus(); // the button is gone
    sending.send(items);
  });
  const sending = new Sending({ signal, onDone: (added) => (staged.refresh(), added && onAdded()) });
  const element = h("section", { class: "card add for-writers", "aria-label": "Add pictures", hidden: true },
    h("div", { class: "heading" }, heading,
      h("button", { type: "button", class: "quiet", on: { click: close } }, "Close")),
    dropZone(async (options) => element.take(await choose(options))), staged.element, sending.element,
  );

  function close() {
    sending.clear();
    staged.show([]);
    element.hidden = true;
  }

  element.open = ({ focus = true } = {}) => {
    element.hidden = false;
    if (focus) heading.focus();
  };
  element.take = (files) => {
    element.open();
    staged.add(files);
  };
  return element;
}

/** What was chosen and not yet sent. onSend: told [{file, category}]. */
function stagedFiles(onSend) {
  const category = categoryField({ allowNew: true, label: "Category for all of them" });
  const byFolder = h("input", { type: "checkbox" });
  const element = h("div", { class: "staged" });
  let waiting = [];

  function show(files) {
    waiting = files;
    replace(element, waiting.length > 0 && [
      previews(waiting),
      h("div", { class: "bar" },
        category,
        waiting.some(({ folder }) => folder)
          && h("label", { class: "choice" }, byFolder, "The folder's name is the category"),
        h("button", { type: "button", class: "primary", on: { click: send } },
          `Add ${counted(waiting.length, "picture")}`),
        h("button", { type: "button", class: "quiet", on: { click: () => show([]) } }, "Not these"),
        h("span", { class: "faint small number size" }, size(waiting.reduce((sum, { file }) => sum + file.size, 0))),
      ),
    ]);
  }

  function send() {
    const items = waiting.map(({ file, folder }) =>
      ({ file, category: (byFolder.checked && folder) || category.value }));
    show([]);
    onSend(items);
  }

  return { element, show, add: (files) => show([...waiting, ...files]), refresh: () => category.refresh() };
}

function dropZone(take) {
  return h("div", { class: "drop-zone" },
    h("p", {}, "Drop pictures or folders anywhere here, or"),
    h("div", { class: "choices" },
      h("button", { type: "button", on: { click: () => take() } }, "Choose pictures"),
      h("button", { type: "button", on: { click: () => take({ folder: true }) } }, "Choose a folder"),
    ),
  );
}

function previews(files) {
  const more = files.length - PREVIEWS;
  return h("ul", { class: "previews", role: "list", "aria-label": "Chosen pictures" },
    files.slice(0, PREVIEWS).map(({ file }) => h("li", {}, local(file, file.name.slice(0, 200)))),
    more > 0 && h("li", { class: "faint number" }, `+ ${more.toLocaleString()}`),
  );
}
