// Same or different: what people say about two pictures, taken at once and taken back as easily.

import { h } from "../core/dom.js";
import { give, takeBack } from "../core/feedback.js";
import { notice, tell } from "../core/notices.js";

/** Two buttons about a pair. left, right: ids of images or queries. name: what screen readers call the other picture.
 *  onChange: told true, false or null, what counts now. */
export function verdictButtons({ left, right, name, onChange = () => {} }) {
  const given = []; // {similar, feedbackId}, the latest last
  let turn = Promise.resolve(); // one call after the other
  const same = button("Same", "✓", `Same kind: ${name}`, true);
  const different = button("Different", "✗", `Different kind: ${name}`, false);
  const element = h("div", { class: "verdict", role: "group", "aria-label": `Verdict about ${name}` }, same, different);

  function button(label, mark, description, similar) {
    return h("button", {
      type: "button", class: similar ? "same" : "different", "aria-label": description, title: label,
      "aria-pressed": "false", on: { click: () => toggle(similar) },
    }, h("span", { "aria-hidden": "true" }, `${mark} ${label}`));
  }

  /** Say so; said before, take it back. */
  async function toggle(similar) {
    if (element.ariaBusy === "true") return; // the second of a double click
    element.ariaBusy = "true";
    await inTurn(() => (given.at(-1)?.similar === similar ? undo(given.at(-1)) : say(similar)));
    element.ariaBusy = "false";
  }

  function inTurn(work) {
    turn = turn.then(work).catch(tell);
    return turn;
  }

  async function say(similar) {
    const entry = { similar, feedbackId: await give(left, right, similar) };
    given.push(entry);
    shown();
    notice(similar ? "Noted: the same kind." : "Noted: different kinds.", {
      action: { label: "Undo", run: () => inTurn(() => undo(entry)) },
    });
  }

  async function undo(entry) {
    if (!given.includes(entry)) return; // it is taken back already
    await takeBack(entry.feedbackId);
    given.splice(given.indexOf(entry), 1);
    shown();
    notice(entry.feedbackId === null ? "It had been said before, and stays said." : "Taken back.");
  }

  function shown() {
    const now = given.at(-1)?.similar ?? null;
    same.ariaPressed = String(now === true);
    different.ariaPressed = String(now === false);
    element.dataset.verdict = String(now);
    onChange(now);
    document.dispatchEvent(new Event("samekind:changed"));
  }

  element.toggle = toggle;
  return element;
}
