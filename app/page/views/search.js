// Search: by a picture of one's own, one of the collection, or several examples.

import { go, here, settle } from "../core/addresses.js";
import { foreign, h, replace } from "../core/dom.js";
import { percent } from "../core/words.js";
import { searchingBy } from "../components/examples.js";
import { takeIncoming } from "../components/incoming.js";
import { keepUpload, queryOf } from "../components/queries.js";
import { queryPanel } from "../components/query_panel.js";
import { resultsGrid } from "../components/results.js";
import { starter } from "../components/starter.js";
import { untaught } from "../components/untaught.js";

export const title = "Search";

const K = 24;
const KEYS = {
  arrows: "move", S: "same kind", D: "different", U: "undo", "+": "more like it", "−": "not like it",
};
const GONE = "That picture is no longer at hand, since the page was loaded anew: choose it again.";

let cameBefore = false; // who comes first to the page starts at its top

export async function show(root, parameters, signal) {
  takeIncoming(root, "Search by this picture", searchByFile, signal);
  scrollTo(0, 0);
  let query = null;
  let note = parameters.has("upload") ? GONE : null;
  try {
    query = await queryOf(parameters, signal);
  } catch (error) {
    if (signal.aborted) return;
    note = error.message;
  }
  if (query) showSearch(root, query, parameters, signal);
  else replace(root, starter(searchByFile, note, signal));
  cameBefore = true;
}

function searchByFile(file) {
  go("search", { upload: keepUpload(file) });
}

function showSearch(root, query, parameters, signal) {
  const options = optionsOf(parameters);
  const found = foundPart(query, signal);
  const panel = queryPanel({
    query, options, onFile: searchByFile,
    onOption: (name, value) => {
      options[name] = value;
      settle("search", { ...Object.fromEntries(here().parameters), ...asParameters(options) });
      found.search(options);
    },
    onKnown: (category) => {
      query.upload.category = query.category = category;
      found.judge(category);
    },
  });
  if (query.examples) searchingBy(query.examples, signal);
  replace(root, h("div", { class: "search-parts" }, panel, found.element));
  if (cameBefore && document.activeElement === document.body) panel.querySelector("h1").focus({ preventScroll: true });
  found.search(options);
}

/** The results; each search takes the place of the one before as soon as it has some. */
function foundPart(query, signal) {
  const vote = h("p", { class: "vote", role: "status" });
  const said = h("div", {});
  const place = h("div", {});
  const element = h("section", { class: "found", "aria-labelledby": "found" },
    h("div", { class: "found-head" }, h("h2", { id: "found" }, "Results"), vote), said, keys(), place);
  let running = new AbortController();
  let grid = null;

  async function search(options) {
    running.abort();
    running = new AbortController();
    const now = AbortSignal.any([signal, running.signal]);
    const asked = { ...options };
    const next = resultsGrid({
      pageOf: (offset, until) => query.pageOf(asked, offset, until),
      query: { reference: query.reference(asked.crop), category: query.category }, signal: now,
    });
    if (grid) place.classList.add("stale");
    else replace(place, next.element);
    const answer = await next.first;
    if (now.aborted) return;
    grid = next;
    grid.judge(query.category);
    replace(place, grid.element).classList.remove("stale");
    replace(vote, answer && voteText(answer.category));
    replace(said, answer && untaught(answer.trained, "results"));
  }

  return { element, search, judge: (category) => grid?.judge(category) };
}

function voteText(vote) {
  if (vote === null) return null;
  return ["Taken for ", h("strong", {}, foreign(vote.category, 80)), ` by ${percent(vote.share)} of the votes`];
}

function keys() {
  return h("p", { class: "keys faint small" }, "On a result:",
    Object.entries(KEYS).map(([key, does]) => h("span", {}, h("kbd", {}, key), ` ${does}`)));
}

function optionsOf(parameters) {
  const k = Number(parameters.get("k"));
  return {
    k: Number.isInteger(k) && k > 0 ? k : K, category: parameters.get("category"), crop: boxOf(parameters.get("crop")),
  };
}

function asParameters({ k, category, crop }) {
  return { k: k === K ? null : k, category, crop: crop && [crop.left, crop.top, crop.right, crop.bottom].join(",") };
}

function boxOf(text) {
  const [left, top, right, bottom] = (text ?? "").split(",").map(Number);
  const isBox = 0 <= left && left < right && right <= 1 && 0 <= top && top < bottom && bottom <= 1;
  return isBox ? { left, top, right, bottom } : null;
}
