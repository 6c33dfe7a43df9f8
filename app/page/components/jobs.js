// Long work that is going on: how far it is, asked about each second while it lasts.

import { queryText } from "../core/addresses.js";
import { at, get, remove } from "../core/api.js";
import { agreed } from "../core/dialogs.js";
import { h, replace } from "../core/dom.js";
import { tell } from "../core/notices.js";

const EACH_MS = 1000;
const PAGE = 1000;
const NAMES = {
  add: "Adding files", import: "Importing a folder", activate: "Changing over to a model",
  reextract: "Changing over to a model of another backbone", reindex: "Building the index anew",
  learn: "Learning",
};

/** {element, look, add}: shows the jobs that wait or run. look() finds those there are; add(job) shows one that was
 *  just started. onEnd: told each job that ended while it was shown. */
export function jobList({ signal, mayCancel, onEnd }) {
  const list = h("ul", { class: "jobs" });
  const element = h("section", { hidden: true, "aria-label": "Work going on" }, list);
  const rows = new Map(); // by id of the job
  let timer = null;
  signal.addEventListener("abort", () => clearTimeout(timer));

  async function look() {
    for (const job of await unfinished(signal)) show(job);
    await follow();
  }

  async function add(job) {
    show(job);
    await follow();
  }

  function show(job) {
    if (!rows.has(job.id)) rows.set(job.id, jobRow(job, mayCancel));
    if (isOver(job)) rows.delete(job.id);
    else rows.get(job.id).update(job);
    replace(list, [...rows.values()].map((row) => row.element));
    element.hidden = rows.size === 0;
  }

  /** Ask after each that is shown, and again in a while. */
  async function follow() {
    clearTimeout(timer);
    try {
      for (const id of [...rows.keys()]) {
        const job = await get(at`/v1/jobs/${id}`, { signal });
        show(job);
        if (isOver(job)) onEnd(job);
      }
    } catch (error) {
      if (error.status && error.status < 500) throw error;
      tell(error); // the service may be back soon: jobs go on when it starts
    }
    if (rows.size && !signal.aborted) timer = setTimeout(() => follow().catch(tell), EACH_MS);
  }

  return { element, look, add };
}

const isOver = ({ state }) => state !== "waiting" && state !== "running";

/** They stand at the end of a list that begins with the oldest. */
async function unfinished(signal) {
  const found = [];
  let cursor = null;
  do {
    const page = await get(`/v1/jobs?${queryText({ limit: PAGE, cursor })}`, { signal });
    found.push(...page.jobs.filter((job) => !isOver(job)));
    cursor = page.next;
  } while (cursor);
  return found;
}

function jobRow(job, mayCancel) {
  const name = NAMES[job.kind] ?? job.kind;
  const bar = h("progress", { "aria-label": name });
  const text = h("span", { class: "faint small number" });
  const cancel = h("button", { type: "button", class: "quiet", on: { click: () => stop(job.id, name) } }, "Cancel");
  const element = h("li", { class: "card job" }, h("strong", {}, name), text, mayCancel && cancel, bar);
  return { element, update };

  function update({ state, total, done, failed }) {
    if (total) {
      bar.max = total;
      bar.value = done + failed;
    } else bar.removeAttribute("value");
    replace(text, state === "waiting" ? "waiting" : amount(total, done, failed));
  }
}

function amount(total, done, failed) {
  const parts = [total ? `${done.toLocaleString()} of ${total.toLocaleString()}` : done.toLocaleString()];
  if (failed) parts.push(`${failed.toLocaleString()} failed`);
  return parts.join(", ");
}

async function stop(id, name) {
  if (!(await agreed("Cancel this?", `${name}: what is done stays done.`, { yes: "Cancel it" }))) return;
  await remove(at`/v1/jobs/${id}`).catch(tell);
}
