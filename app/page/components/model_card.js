// One version of the model: what it is, what it changed, and what can be done with it.

import { fromHere } from "../core/addresses.js";
import { at, blob, get, hasKey, post, remove } from "../core/api.js";
import { agreed } from "../core/dialogs.js";
import { h, foreign, replace } from "../core/dom.js";
import { save } from "../core/files.js";
import { notice, tell } from "../core/notices.js";
import { moment } from "../core/words.js";
import { categoryTable, measureTable, VERDICTS } from "./comparison.js";

const METHODS = {
  "nml-deep": "deep network", nml: "network", "pair-discriminant": "pair discriminant", pca: "principal components",
  untrained: "plain features",
};

const SHORT = 8; // of a version, where it is only mentioned

/** mayChange: whether the buttons that change something are there. onJob: told the job that was started.
 *  onChange: called when models came or went. */
export function modelCard(model, { mayChange, onJob, onChange }) {
  const { version, active, comparison } = model;
  return h("article", { class: active ? "card model active" : "card model", "aria-label": `Model ${version}` },
    h("header", {},
      h("h3", {}, h("code", {}, version)),
      active && h("span", { class: "chip solid" }, "● Active"),
      comparison && verdictChip(comparison),
      h("p", { class: "faint small" },
        METHODS[model.method] ?? foreign(model.method, 60),
        ` · ${model.embedding_dim} dimensions${model.trained ? "" : " · nothing learned yet"} · made `,
        moment(model.created),
        model.activated && !active && [" · last active ", moment(model.activated)]),
      actions(model, { mayChange, onJob, onChange })),
    comparison?.measures.length > 0 && measureTable(comparison),
    comparison && !comparison.measures.length &&
      h("p", { class: "faint" }, "Too little was held out to compare it with the one before."),
    changes(model));
}

function verdictChip({ verdict, with: former }) {
  const { mark, words, kind } = VERDICTS[verdict];
  return h("span", { class: `chip ${kind}` }, h("span", { "aria-hidden": "true" }, mark), `${words} `,
    h("code", {}, former.slice(0, SHORT)));
}

/** Fetched when it is opened. */
function changes({ version, comparison }) {
  const inside = h("div", { class: "inside" });
  const element = h("details", {}, h("summary", {}, "What changed"), inside);
  element.addEventListener("toggle", async () => {
    if (!element.open || inside.childElementCount) return;
    replace(inside, h("p", { class: "faint", "aria-busy": "true" }, "Fetching…"));
    try {
      const { manifest } = await get(at`/v1/models/${version}`);
      replace(inside, factList(factsOf(manifest)), comparison && categoryTable(comparison));
    } catch (error) {
      element.open = false;
      replace(inside);
      tell(error);
    }
  });
  return element;
}

function factList(facts) {
  return h("dl", { class: "facts" }, facts.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, foreign(value)))));
}

const MODES = { auto: "chosen by what suits", warm: "went on from the model before", full: "learned anew" };

/** [name, text] of what people care about. A manifest may come from anywhere and hold anything. */
function factsOf({ training, backbone, b, calibration }) {
  const of = (value, name) => (value && typeof value === "object" ? value[name] : undefined);
  const collection = of(training, "collection");
  const number = (value) =>
    typeof value === "number" ? value.toLocaleString(undefined, { maximumSignificantDigits: 4 }) : undefined;
  const mode = of(collection, "mode");
  return [
    ["How", MODES[mode] ?? mode],
    ["Pictures it learned from", number(of(collection, "images") ?? of(training, "images"))],
    ["Verdicts it learned from", number(of(collection, "pairs") ?? of(training, "pairs"))],
    ["Backbone", of(backbone, "name")],
    ["Same kind below a squared distance of", number(b)],
    ["Probabilities", calibration ? "calibrated"
      : of(training, "untrained") === true ? "none: nothing was learned" : "none: too few pairs to calibrate it"],
    ["Seed", number(of(of(training, "config"), "seed"))],
    ["Made by Samekind", of(of(training, "versions"), "samekind")],
  ].filter(([, value]) => value !== undefined && value !== null);
}

function actions(model, { mayChange, onJob, onChange }) {
  const { version, active, links } = model;
  const button = (label, run, className = null) =>
    h("button", {
      type: "button", class: className, "aria-label": `${label} ${version}`, on: { click: () => run().catch(tell) },
    }, label);
  return h("div", { class: "model-actions" },
    mayChange && !active && button("Activate", () => activate(model, onJob)),
    links.report && fileLink("Report", links.report, `report-${version}.html`, version),
    fileLink("Download", links.file, `${version}.samekind`, version, { download: true }),
    mayChange && !active && button("Delete", () => erase(model, onChange), "quiet"));
}

/** A link, or where a key is needed a button: then no link leads there. A report is saved, not shown: as a page of
 *  this origin it would be held to this page's policy, not to its own. */
function fileLink(label, path, name, version, attributes = {}) {
  const description = `${label} ${version}`;
  if (!hasKey()) {
    const place = attributes.download ? {} : { target: "_blank", rel: "noopener" };
    return h("a", { class: "button", href: fromHere(path), "aria-label": description, ...attributes, ...place }, label);
  }
  const click = () => blob(path).then((content) => save(content, name)).catch(tell);
  return h("button", { type: "button", "aria-label": description, on: { click } }, label);
}

/** Asks first; once more if the service says that it is worse. */
async function activate({ version }, onJob) {
  const text = `All pictures are embedded with model ${version} in the background; searches go on with the present one `
    + "until it is ready.";
  if (!(await agreed("Activate this model?", text, { yes: "Activate" }))) return;
  const path = at`/v1/models/${version}/activate`;
  try {
    await onJob(await post(path, {}));
  } catch (error) {
    if (error.code !== "model_is_worse") throw error;
    const yes = "Activate it all the same";
    const insists = await agreed("It is worse than the model before", error.message, { yes, dangerous: true });
    if (insists) await onJob(await post(path, { force: true }));
  }
}

async function erase({ version }, onChange) {
  const text = `Model ${version} and its report are gone then. Verdicts and pictures stay.`;
  if (!(await agreed("Delete this model?", text, { yes: "Delete", dangerous: true }))) return;
  await remove(at`/v1/models/${version}`);
  notice(`Model ${version} is deleted.`);
  onChange();
}
