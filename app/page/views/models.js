// The versions of the model: how good each is, which one answers, and what people taught since.

import { get, post } from "../core/api.js";
import { agreed } from "../core/dialogs.js";
import { h, replace } from "../core/dom.js";
import { notice, tell } from "../core/notices.js";
import { role } from "../core/roles.js";
import { percent } from "../core/words.js";
import { difference, lineChart } from "../components/chart.js";
import { MEASURES } from "../components/comparison.js";
import { empty } from "../components/empty.js";
import { jobList } from "../components/jobs.js";
import { modelCard } from "../components/model_card.js";

export const title = "Models";

export async function show(root, parameters, signal) {
  const mayChange = (await role()) === "admin";
  const counts = h("section", { "aria-label": "What people taught" });
  const curves = h("section", {});
  const versions = h("section", { class: "versions", "aria-label": "Versions" });
  const jobs = jobList({ signal, mayCancel: mayChange, onEnd: ended });
  const headActions = h("div", { class: "actions" });
  root.append(
    h("div", { class: "models-head" }, h("h1", {}, title), headActions),
    jobs.element, counts, curves, versions);
  replace(versions, h("p", { class: "empty", "aria-busy": "true" }, "Fetching the models…"));
  document.addEventListener("samekind:changed", () => showCounts().catch(tell), { signal });
  await Promise.all([showModels(), showCounts(), jobs.look().catch(tell)]);

  async function showCounts() {
    replace(counts, countList(await get("/v1/stats", { signal })));
  }

  async function showModels() {
    try {
      const models = await get("/v1/models", { signal });
      replace(headActions, mayChange && [rollBackButton(models, jobs.add), uploadButton(showModels)]);
      replace(curves, curvesOf(models, signal));
      replace(versions, h("h2", {}, "Versions"),
        models.map((model) => modelCard(model, { mayChange, onJob: jobs.add, onChange: showModels })));
    } catch (error) {
      if (error.name === "AbortError") return;
      replace(versions, empty("The models could not be fetched.", error.message,
        h("button", { type: "button", class: "primary", on: { click: showModels } }, "Try again")));
    }
  }

  function ended({ state, detail, kind }) {
    const words = detail ?? `${kind}: ${state}`;
    notice(words, { kind: state === "failed" ? "error" : "done" });
    document.dispatchEvent(new Event("samekind:changed"));
    showModels();
  }
}

function countList({ verdicts, contradicted, new: unlearned }) {
  const item = (count, name, about) => h("div", {},
    h("dt", {}, name),
    h("dd", {}, h("strong", { class: "number" }, count.toLocaleString()), h("span", { class: "faint small" }, about)));
  return h("dl", { class: "figures" },
    item(verdicts, "Verdicts", "pairs and groups that people called same or different"),
    item(unlearned.total, "New", newInWords(unlearned)),
    item(contradicted, "Contradicted", "people disagree about them"),
    h("div", { class: "next-step" }, h("dt", { class: "hidden-text" }, "Next"),
      h("dd", {}, h("a", { class: "button", href: "#/teach" }, "Teach it more"))));
}

/** What nobody has learned from yet, by kind. */
function newInWords({ verdicts, categories, undone, agreeing }) {
  const kinds = [
    [verdicts, "verdicts"], [categories, "categories"], [undone, "taken back"],
    [agreeing, "more that only repeat categories"],
  ].filter(([count]) => count).map(([count, kind]) => `${count.toLocaleString()} ${kind}`);
  return ["not known yet to the newest model", kinds.join(", ")].filter(Boolean).join(": ");
}

/** One figure for each measure, and the same as a table. */
function curvesOf(models, signal) {
  const lines = Object.entries(MEASURES)
    .map(([measure, { name, about }]) => ({ name, about, points: pointsOf(models, measure) }))
    .filter(({ points }) => points.length > 1);
  if (!lines.length) return null;
  return [
    h("h2", {}, "Over the versions"),
    h("div", { class: "charts" }, lines.map(({ name, about, points }) => h("figure", { class: "card" },
      h("figcaption", {}, h("strong", {}, name), h("span", { class: "faint small" }, about)),
      lineChart({ title: name, points, signal })))),
    h("p", { class: "faint small" }, "Measured on what an update held out; the bars are 95 % intervals of the change. ",
      "The filled dot is the active model."),
    h("details", {}, h("summary", {}, "As a table"), lines.map(({ name, points }) => curveTable(name, points))),
  ];
}

/** Old to new. The model that the first comparison is with was not compared itself: it stands there as of then. */
function pointsOf(models, measure) {
  const found = new Map();
  for (const { version, active, created, comparison } of models.toReversed()) {
    const change = comparison?.measures.find(({ name }) => name === measure);
    if (!change) continue;
    const former = models.find((model) => model.version === comparison.with);
    if (former && !found.has(former.version)) found.set(former.version, pointOf(former, change.before, null));
    found.set(version, pointOf({ version, active, created }, change.after, change));
  }
  return [...found.values()];
}

function pointOf({ version, active, created }, value, change) {
  const label = version.slice(0, 6);
  const interval = change
    ? `, ${difference(change.low)} to ${difference(change.high)} points against the one before`
    : "";
  return {
    label, value, version, mark: active,
    low: change && Math.max(0, change.before + change.low), high: change && Math.min(1, change.before + change.high),
    told: `${label} of ${new Date(created).toLocaleDateString()}: ${percent(value, 1)}${interval}`,
  };
}

function curveTable(name, points) {
  return h("table", { class: "curve" },
    h("caption", {}, name),
    h("thead", {}, h("tr", {}, ["Version", "Value", "95 % interval"].map((each) => h("th", { scope: "col" }, each)))),
    h("tbody", {}, points.toReversed().map(({ version, value, low, high, mark }) => h("tr", {},
      h("th", { scope: "row" }, h("code", {}, version), mark && " active"),
      h("td", { class: "number" }, percent(value, 1)),
      h("td", { class: "number" }, low === null ? "–" : `${percent(low, 1)} to ${percent(high, 1)}`)))));
}

function rollBackButton(models, onJob) {
  const former = models.filter((model) => model.activated && !model.active)
    .toSorted((one, two) => two.activated.localeCompare(one.activated))[0];
  if (!former) return null;
  return h("button", { type: "button", on: { click: () => rollBack(former, onJob).catch(tell) } }, "Roll back");
}

async function rollBack({ version }, onJob) {
  const text = `Model ${version} takes over again, which was active before. Rolling back again undoes this.`;
  if (await agreed("Roll back?", text, { yes: "Roll back" })) await onJob(await post("/v1/models/rollback"));
}

/** A button, since the field itself cannot be made to look like one. */
function uploadButton(onChange) {
  const accept = ".safetensors,.samekind";
  const field = h("input", { type: "file", accept, "aria-label": "Model file", hidden: true });
  const button = h("button", { type: "button", on: { click: () => field.click() } }, "Upload a model");
  field.addEventListener("change", async () => {
    const [file] = field.files;
    if (!file) return;
    button.disabled = true;
    button.textContent = "Uploading…";
    try {
      const body = new FormData();
      body.append("file", file);
      const { version } = await post("/v1/models", body);
      notice(`Model ${version} is kept. It answers once you activate it.`);
    } catch (error) {
      tell(error);
    }
    onChange();
  });
  return [button, field];
}
