// Files on their way into the collection: how far they are, and what became of each.

import { to } from "../core/addresses.js";
import { answer } from "../core/api.js";
import { foreign, h, isolated, replace } from "../core/dom.js";
import { notice, tell } from "../core/notices.js";
import { nameOf } from "../core/pictures.js";
import { several } from "../core/several.js";
import { collectionTile } from "./collection_tile.js";

const AT_ONCE = 2; // more would only wait: the service looks at pictures one after the other
const MOST_ROWS = 100; // of a list of failures
const MOST_TILES = 24;

/** onDone: told whether some were added. */
export class Sending {
  #signal; #onDone;
  #progress = h("div", { class: "progress" });
  #failed = h("div", { class: "failed" });
  #there = h("div", { class: "there" });
  #added = h("ul", { class: "grid just-added", role: "list", "aria-label": "Just added" });
  #queue = []; // items: {file, category}
  #failures = new Map(); // by item: the error
  #duplicates = []; // images
  #counts = null;
  #running = null;
  element = h("div", { class: "sending" }, this.#progress, this.#failed, this.#there, this.#added);

  constructor({ signal, onDone }) {
    this.#signal = signal;
    this.#onDone = onDone;
  }

  /** After those that are on their way. */
  send(items) {
    for (const item of items) {
      this.#failures.delete(item);
      this.#queue.push(item);
    }
    this.#showFailures();
    if (this.#running) this.#counts.total += items.length;
    else if (items.length) this.#run();
  }

  /** Stops and forgets. */
  clear() {
    this.#running?.abort();
    this.#failures.clear();
    this.#duplicates.length = 0;
    for (const each of this.element.children) replace(each);
  }

  async #run() {
    const running = new AbortController();
    const stop = AbortSignal.any([this.#signal, running.signal]);
    const counts = { total: this.#queue.length, done: 0, added: 0, there: 0 };
    this.#running = running;
    this.#counts = counts;
    addEventListener("beforeunload", (event) => event.preventDefault(), { signal: stop });
    this.#showProgress();
    while (this.#queue.length) {
      await several(this.#queue.splice(0), AT_ONCE, (item) => stop.aborted || this.#sendOne(item, stop));
    }
    const summary = inWords(counts, stop.aborted, this.#failures.size);
    running.abort(); // the listener above
    this.#running = null;
    replace(this.#progress, h("p", {}, summary));
    notice(summary);
    document.dispatchEvent(new Event("samekind:changed"));
    if (!this.#signal.aborted) this.#onDone(counts.added > 0);
  }

  async #sendOne(item, stop) {
    try {
      const response = await answer("POST", "/v1/images", { body: formOf(item), signal: stop });
      this.#take(await response.json(), response.status === 201);
    } catch (error) {
      if (stop.aborted) return;
      this.#failures.set(item, error);
      this.#showFailures();
      if ([401, 403].includes(error.status)) this.#refuse(error);
    }
    this.#counts.done += 1;
    this.#showProgress();
  }

  /** So it would be with all others. */
  #refuse(error) {
    tell(error);
    this.#running?.abort();
  }

  #take(image, isNew) {
    if (isNew) {
      this.#counts.added += 1;
      if (this.#added.children.length < MOST_TILES) this.#added.append(collectionTile(image));
    } else {
      this.#counts.there += 1;
      this.#duplicates.push(image);
      replace(this.#there, duplicateList(this.#duplicates));
    }
  }

  #showProgress() {
    const { total, done } = this.#counts;
    const words = `${done.toLocaleString()} of ${total.toLocaleString()}`;
    const bar = this.#progress.querySelector("progress");
    if (bar) {
      Object.assign(bar, { max: total, value: done });
      this.#progress.querySelector(".count").textContent = words;
    } else {
      replace(this.#progress, h("progress", { "aria-label": "Adding pictures", max: total, value: 0 }),
        h("div", { class: "bar" }, h("span", { class: "count number" }, words),
          h("button", { type: "button", on: { click: () => this.#running?.abort() } }, "Stop")));
    }
  }

  #showFailures() {
    replace(this.#failed, this.#failures.size > 0 && failureList(this.#failures, (items) => this.send(items)));
  }
}

function formOf({ file, category }) {
  const form = new FormData();
  form.append("file", file, "file"); // its own name may be longer than a header may be
  form.append("metadata", JSON.stringify({ name: file.name }));
  if (category) form.append("category", category);
  return form;
}

function inWords({ total, done, added, there }, isStopped, failures) {
  const parts = [
    `${added.toLocaleString()} added`,
    there > 0 && `${there.toLocaleString()} there already`,
    failures > 0 && `${failures.toLocaleString()} not added`,
  ].filter(Boolean).join(", ");
  if (!isStopped || done === total) return `${parts}.`;
  return `Stopped after ${done.toLocaleString()} of ${total.toLocaleString()}: ${parts}. `
    + "Add the same files again to go on: none is added twice.";
}

function failureList(failures, again) {
  const items = [...failures.keys()];
  return [
    h("div", { class: "heading" }, h("h3", {}, `Not added (${items.length.toLocaleString()})`),
      items.length > 1 && h("button", { type: "button", on: { click: () => again(items) } }, "Try all again")),
    h("ul", { class: "rows", role: "list" },
      items.slice(0, MOST_ROWS).map((item) => failureRow(item, failures.get(item), () => again([item])))),
    items.length > MOST_ROWS && h("p", { class: "faint" }, `and ${(items.length - MOST_ROWS).toLocaleString()} more`),
  ];
}

function failureRow({ file }, error, again) {
  return h("li", {},
    h("span", {}, foreign(file.name, 80)),
    h("span", { class: "bad" }, error.message),
    h("button", { type: "button", "aria-label": `Try again: ${isolated(file.name)}`, on: { click: again } },
      "Try again"),
  );
}

function duplicateList(images) {
  return h("details", {},
    h("summary", {}, `There already, and left as they were (${images.length.toLocaleString()})`),
    h("ul", { class: "rows", role: "list" }, images.slice(0, MOST_ROWS).map((image) =>
      h("li", {}, h("a", { href: to("image", { id: image.id }) }, foreign(nameOf(image), 80))))),
  );
}
