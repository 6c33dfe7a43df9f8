// "More like these, not those": marks on pictures, kept over the views until they are cleared.

import { go } from "../core/addresses.js";
import { h, replace } from "../core/dom.js";
import { notice } from "../core/notices.js";
import { picture } from "../core/pictures.js";

export const MOST_EXAMPLES = 100; // of each side, as the service takes them

const marks = new Map(); // by id: {id, links, name, like}
let searchedBy = ""; // what is on the screen already needs no tray

/** Two buttons, one of which can be pressed; element.toggle(like) does the same. */
export function exampleMarks({ id, links, name }) {
  const press = (like) => mark({ id, links, name, like: marks.get(id)?.like === like ? null : like });
  const element = h("div", { class: "marks", "data-id": id, role: "group", "aria-label": `Examples: ${name}` },
    markButton("like", "+", `More like ${name}`, () => press(true)),
    markButton("unlike", "−", `Not like ${name}`, () => press(false)),
  );
  element.toggle = press;
  showPressed(element);
  return element;
}

/** These are what is searched by: they can be refined by further marks. pictures: {id, links, name, like}. */
export function searchingBy(pictures, signal) {
  marks.clear();
  for (const each of pictures) marks.set(each.id, each);
  searchedBy = asText();
  signal.addEventListener("abort", () => {
    searchedBy = "";
    changed();
  });
  changed();
}

/** The address of a search by the marks as they are, or with one of them taken off. */
export function markedParameters(without = null) {
  const ids = (like) => marked(like).map(({ id }) => id).filter((id) => id !== without).join(",");
  return { like: ids(true), unlike: ids(false) };
}

function marked(like) {
  return [...marks.values()].filter((each) => each.like === like);
}

function markButton(kind, sign, label, press) {
  return h("button", {
    type: "button", class: `round ${kind}`, "aria-label": label, title: label, "aria-pressed": "false",
    on: { click: press },
  }, h("span", { "aria-hidden": "true" }, sign));
}

/** like: null takes the mark off. */
function mark(picture) {
  const { id, like } = picture;
  if (like === null) marks.delete(id);
  else if (marked(like).length >= MOST_EXAMPLES) notice(`${MOST_EXAMPLES} are enough.`);
  else marks.set(id, picture);
  changed();
}

function changed() {
  for (const element of document.querySelectorAll(".marks")) showPressed(element);
  showTray();
}

function showPressed(element) {
  const like = marks.get(element.dataset.id)?.like;
  const [more, less] = element.children;
  more.ariaPressed = String(like === true);
  less.ariaPressed = String(like === false);
}

function asText() {
  return JSON.stringify(markedParameters());
}

function showTray() {
  const shown = document.getElementById("tray");
  if (!marks.size || asText() === searchedBy) return shown?.remove();
  const tray = shown ?? h("aside", { id: "tray", class: "tray", "aria-label": "Examples" });
  const { like } = markedParameters();
  replace(tray,
    h("div", { class: "chosen" }, side("More like", true), side("Not like", false)),
    h("div", { class: "actions" },
      h("button", { type: "button", class: "quiet", on: { click: clear } }, "Clear"),
      h("button", { type: "button", class: "primary", disabled: !like, on: { click: searchByMarks } },
        like ? "Search by these" : "Mark one with +"),
    ),
  );
  if (!shown) document.body.append(tray);
}

function side(label, like) {
  const chosen = marked(like);
  const attributes = { class: like ? "side" : "side unlike", role: "group", "aria-label": label };
  return chosen.length > 0 && h("div", attributes, h("span", {}, label), chosen.map(chip));
}

function chip(each) {
  const label = `Take off: ${each.name}`;
  const takeOff = () => {
    mark({ ...each, like: null });
    (document.querySelector("#tray button") ?? document.getElementById("main")).focus({ preventScroll: true });
  };
  return h("button", { type: "button", "aria-label": label, title: label, on: { click: takeOff } },
    each.links && picture(each.links, ""));
}

function searchByMarks() {
  go("search", markedParameters());
}

function clear() {
  marks.clear();
  changed();
  document.getElementById("main").focus({ preventScroll: true });
}
