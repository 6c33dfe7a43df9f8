// Metadata as rows of a name and a value. Values are any JSON: what reads as JSON is meant as such, the rest is text.

import { cut, h } from "../core/dom.js";

const LABEL = 100; // characters of a name in a sentence

/** An element with `read()`, which gives the object that the fields hold, or throws an Error in words for people. */
export function metadataFields(metadata) {
  const rows = h("div", { class: "metadata-rows" });
  const addEmpty = () => add("", "").querySelector("input").focus();
  const element = h("div", { class: "metadata-fields" }, rows,
    h("button", { type: "button", class: "quiet", on: { click: addEmpty } }, "+ Add a field"),
    h("p", { class: "faint small" }, "7 is a number and true is true; write \"7\" in quotes where you mean the text."));

  function add(name, text) {
    const label = name ? `Field ${cut(name, LABEL)}` : "New field";
    const remove = () => row.remove();
    const row = h("div", { class: "metadata-row", role: "group", "aria-label": label },
      h("input", { "aria-label": "Name", placeholder: "Name", dir: "auto", autocomplete: "off", value: name }),
      h("textarea", { "aria-label": "Value", placeholder: "Value", dir: "auto", rows: 1, spellcheck: "false" }, text),
      h("button", { type: "button", class: "quiet", "aria-label": "Remove this field", on: { click: remove } }, "×"));
    rows.append(row);
    return row;
  }

  for (const [name, value] of Object.entries(metadata)) {
    const row = add(name, written(value));
    row.former = { name, value, shown: contents(row) };
  }
  element.read = () => object([...rows.children].map(member).filter(Boolean));
  return element;
}

/** [name, value] of a row, null for one that was left empty. */
function member(row) {
  const { former } = row;
  const shown = contents(row);
  // As it was, if it was not touched: a field may not be able to hold it exactly, such as a line break.
  const name = former?.shown.name === shown.name ? former.name : shown.name;
  const value = former?.shown.text === shown.text ? former.value : read(shown.text);
  if (name || former?.name === name) return [name, checked(name, value, former)];
  if (shown.text) throw new Error("A field has a value and no name: give it one, or remove it.");
  return null;
}

function contents(row) {
  return { name: row.querySelector("input").value, text: row.querySelector("textarea").value };
}

function checked(name, value, former) {
  if (value === null && former?.value !== null) {
    throw new Error(`${cut(name, LABEL)} is null, which is no value: remove the field.`);
  }
  return value;
}

function object(members) {
  const names = members.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`There are two fields called ${cut(twice, LABEL)}: rename or remove one.`);
  return Object.fromEntries(members);
}

/** A value as text that `read` takes back. */
function written(value) {
  return typeof value === "string" && read(value) === value ? value : JSON.stringify(value);
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
