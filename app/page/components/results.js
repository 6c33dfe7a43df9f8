// Neighbours as a grid that goes on by itself, with verdicts and marks on each, by mouse, touch and keys.

import { to } from "../core/addresses.js";
import { foreign, h, replace, s } from "../core/dom.js";
import { describe, nameOf, picture } from "../core/pictures.js";
import { fitToRole } from "../core/roles.js";
import { counted, percent } from "../core/words.js";
import { endless } from "./endless.js";
import { exampleMarks } from "./examples.js";
import { verdictButtons } from "./verdicts.js";

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/** pageOf: async (offset, signal) => SearchAnswer, null if there is no more. query: {reference, category}: what
 *  verdicts may call the query, or null (then its query_id does if it has one), and its category if that is known.
 *  first: promise of the first answer; null if there was none, which the grid tells itself. judge(category): it is
 *  known now. */
export function resultsGrid({ pageOf, query, signal }) {
  const list = h("ul", { class: "grid", role: "list", "aria-label": "Results" });
  const status = h("p", { class: "hidden-text", role: "status" });
  const end = h("div", { class: "end" });
  const element = h("div", { class: "results" }, status, list, end);
  const about = { ...query };
  const shown = new Set();
  const verdicts = []; // elements, the latest last
  let offset = 0;
  let model = null; // which the distances are of

  async function begin() {
    replace(end, waiting());
    try {
      const answer = await pageOf(offset, signal);
      if (signal.aborted) return null;
      model = answer?.model;
      replace(end, take(answer) ? endless(goOn, signal) : endLine(shown.size));
      return answer;
    } catch (error) {
      if (!signal.aborted) replace(end, failure(error, begin));
      return null;
    }
  }

  async function goOn() {
    try {
      const answer = await pageOf(offset, signal);
      if (answer && answer.model !== model) return stop();
      const goesOn = take(answer);
      if (!goesOn) end.append(endLine(shown.size));
      return goesOn;
    } catch (error) {
      if (error.code !== "out_of_range") throw error;
      end.append(h("p", { class: "faint" }, "The service shows no more than these.")); // k + offset has a limit
      return false;
    }
  }

  /** Distances of two models do not go together. */
  function stop() {
    replace(end, failure(new Error("Another model answers by now: see what it finds."), () => {
      replace(list);
      shown.clear();
      offset = 0;
      begin();
    }));
    return false;
  }

  /** Whether there may be more. */
  function take(answer) {
    if (!answer) return false;
    about.reference ??= answer.query_id;
    const fresh = answer.neighbours.filter(({ id }) => !shown.has(id)); // additions meanwhile move the pages
    for (const neighbour of fresh) {
      shown.add(neighbour.id);
      list.append(tile(neighbour, about, (given, similar) => note(verdicts, given, similar)));
    }
    offset += answer.neighbours.length;
    status.textContent = counted(shown.size, "result");
    return answer.neighbours.length === answer.k;
  }

  function judge(category) {
    about.category = category;
    for (const each of list.children) frame(each, category);
  }

  list.addEventListener("keydown", (event) => onKey(event, list, verdicts));
  fitToRole(element);
  return { element, first: begin(), judge };
}

function tile(neighbour, about, onVerdict) {
  const name = nameOf(neighbour);
  const element = h("li", { class: "tile", "data-category": neighbour.category },
    h("a", { href: to("image", { id: neighbour.id }), "aria-label": described(neighbour) },
      picture(neighbour.links, "")),
    h("div", { class: "over" },
      exampleMarks({ id: neighbour.id, links: neighbour.links, name }),
      searchLink(neighbour.id, name),
    ),
    h("div", { class: "about" }, facts(neighbour), verdictOf(neighbour, about, name, onVerdict)),
  );
  frame(element, about.category);
  return element;
}

function searchLink(id, name) {
  const attributes = { href: to("search", { image: id }), "aria-label": `Search by ${name}`, title: "Search by this" };
  return h("a", { class: "button round", ...attributes }, magnifier());
}

function magnifier() {
  const look = { width: 16, height: 16, fill: "none", stroke: "currentColor" };
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", ...look },
    s("circle", { cx: 7, cy: 7, r: 4.5, "stroke-width": 1.75 }),
    s("path", { d: "M10.5 10.5 14 14", "stroke-width": 2 }));
}

function facts(neighbour) {
  const { probability, same, squared_distance: distance } = neighbour;
  return [
    h("p", { class: "name" }, foreign(nameOf(neighbour))),
    h("p", { class: "numbers number" },
      h("strong", { class: same ? "good" : "faint", title: "probability of being the same kind" },
        probability === null ? (same ? "same" : "other") : percent(probability)),
      h("span", { class: "faint", title: "squared distance" }, "d² ", distanceText(distance)),
    ),
    h("p", { class: "category" }, neighbour.category === null ? h("span", { class: "faint" }, "no category")
      : [h("span", { class: "agreement" }), foreign(neighbour.category, 60)]),
  ];
}

function described(neighbour) {
  const { probability, same, squared_distance: distance } = neighbour;
  const kind = probability === null ? (same ? "same kind" : "another kind") : `${percent(probability)} same kind`;
  return `${describe(neighbour)}: ${kind}, squared distance ${distanceText(distance)}`;
}

function distanceText(distance) {
  return String(Number(distance.toPrecision(2))); // its scale is the model's own
}

function verdictOf(neighbour, about, name, onVerdict) {
  if (about.reference === null || about.reference === undefined) return null;
  const buttons = verdictButtons({
    left: about.reference, right: neighbour.id, name, onChange: (similar) => onVerdict(buttons, similar),
  });
  buttons.classList.add("for-writers");
  return buttons;
}

/** Green or red, and in words: nobody has to tell colours apart. */
function frame(element, category) {
  const own = element.dataset.category;
  const known = category !== null && category !== undefined && own !== undefined;
  const agrees = known && own === category;
  element.classList.toggle("agrees", agrees);
  element.classList.toggle("disagrees", known && !agrees);
  const place = element.querySelector(".agreement");
  if (place) replace(place, known && [
    h("span", { "aria-hidden": "true" }, agrees ? "✓ " : "✗ "),
    h("span", { class: "hidden-text" }, agrees ? "the query's category: " : "not the query's category: "),
  ]);
}

function note(verdicts, given, similar) {
  const place = verdicts.indexOf(given);
  if (place >= 0) verdicts.splice(place, 1);
  if (similar !== null) verdicts.push(given);
}

function onKey(event, list, verdicts) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = event.target.closest(".tile");
  const key = event.key.toLowerCase();
  const last = verdicts.at(-1);
  const marks = here?.querySelector(".marks");
  const verdict = here?.querySelector(".verdict");
  const todo = ARROWS.includes(event.key) ? () => step(list, here, event.key) : {
    s: () => verdict?.toggle(true),
    d: () => verdict?.toggle(false),
    u: () => last?.toggle(last.dataset.verdict === "true"), // said again, it is taken back
    "+": () => marks?.toggle(true),
    "-": () => marks?.toggle(false),
  }[key];
  if (!here || !todo) return;
  event.preventDefault();
  if (!event.repeat || ARROWS.includes(event.key)) todo();
}

function step(list, from, key) {
  const tiles = [...list.children];
  const columns = tiles.filter((each) => each.offsetTop === tiles[0].offsetTop).length;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  tiles[tiles.indexOf(from) + by]?.querySelector("a").focus();
}

function waiting() {
  const tiles = Array.from({ length: 8 }, () => h("div", { class: "tile" }));
  return h("div", { class: "grid waiting", "aria-hidden": "true" }, tiles);
}

function failure(error, again) {
  return h("div", { class: "card failure", role: "alert" },
    h("p", {}, error.message),
    h("button", { type: "button", on: { click: again } }, "Try again"),
  );
}

function endLine(count) {
  if (!count) return nothing();
  return h("p", { class: "faint" }, `${counted(count, "picture")}; there are no more.`);
}

function nothing() {
  return h("p", { class: "empty" }, "Nothing to show. Take the filter away, or ",
    h("a", { href: to("collection") }, "add pictures"), ".");
}
