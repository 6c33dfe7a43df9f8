// What a model changed against the one before it: its measures, and the categories that gained or lost most.

import { h, foreign } from "../core/dom.js";
import { percent } from "../core/words.js";
import { changeBar, difference, intervalBar } from "./chart.js";

export const MEASURES = {
  mprec_at_10: {
    name: "Right among the first 10", about: "Share of the ten nearest that are of the query's category (mprec@10).",
  },
  pair_auc: {
    name: "Pairs told apart", about: "How often a same pair is nearer than a different one (AUC).",
  },
};
export const VERDICTS = {
  better: { mark: "▲", words: "better than", kind: "good" },
  even: { mark: "=", words: "even with", kind: "" },
  worse: { mark: "▼", words: "worse than", kind: "bad" },
};

const MOST_ROWS = 5; // of the best, and of the worst

/** The measures as rows: before, after, and the interval of the difference about 0. */
export function measureTable({ measures }) {
  const reach = Math.max(0.02, ...measures.flatMap(({ low, high }) => [Math.abs(low), Math.abs(high)]));
  return h("table", { class: "measures" },
    h("caption", { class: "hidden-text" }, "Measures before and after"),
    headOf("Measure", "Before", "After", "Change, in points"),
    h("tbody", {}, measures.map((measure) => h("tr", {},
      h("th", { scope: "row", title: MEASURES[measure.name]?.about ?? null },
        MEASURES[measure.name]?.name ?? foreign(measure.name),
        h("span", { class: "faint small" }, ` of ${measure.count.toLocaleString()}`)),
      h("td", { class: "number", "data-label": "Before" }, percent(measure.before, 1)),
      h("td", { class: "number", "data-label": "After" }, percent(measure.after, 1)),
      h("td", { class: "number" }, h("div", { class: "change" },
        h("strong", { class: tone(measure) }, difference(measure.difference)),
        h("span", { class: "faint small" }, `${difference(measure.low)} to ${difference(measure.high)}`),
        intervalBar(measure, reach)))))));
}

function headOf(...names) {
  return h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));
}

/** Green or red only where chance alone does not explain it. */
function tone({ low, high }) {
  if (low > 0) return "good";
  return high < 0 ? "bad" : "";
}

/** The categories that changed most. */
export function categoryTable({ categories }) {
  if (!categories.length) return null;
  const change = ({ before, after }) => after - before;
  const sorted = categories.toSorted((one, two) => change(two) - change(one));
  const isLong = sorted.length > 2 * MOST_ROWS;
  const shown = isLong ? [...sorted.slice(0, MOST_ROWS), ...sorted.slice(-MOST_ROWS)] : sorted;
  const reach = Math.max(0.02, ...sorted.map((each) => Math.abs(change(each))));
  const left = sorted.length - shown.length;
  return [
    h("h4", {}, "By category"),
    h("table", { class: "categories" },
      h("caption", {}, "Right among the first 10, for held-out pictures. ",
        left > 0 && `The ${MOST_ROWS} best changes and the ${MOST_ROWS} worst; ${left} between them are left out.`),
      headOf("Category", "Before", "After", "Change"),
      h("tbody", {}, shown.map((each) => categoryRow(each, change(each), reach)))),
  ];
}

function categoryRow({ category, count, before, after }, change, reach) {
  return h("tr", {},
    h("th", { scope: "row" }, foreign(category, 60), h("span", { class: "faint small" }, ` ${count}`)),
    h("td", { class: "number" }, percent(before)),
    h("td", { class: "number" }, percent(after)),
    h("td", { class: "number" },
      h("div", { class: "change" }, h("span", {}, difference(change, 0)), changeBar(change, reach))));
}
