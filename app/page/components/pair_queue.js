// The pairs that people are asked about.

import { get } from "../core/api.js";

const BATCH = 20;
const MOST = 100; // that the service suggests at once

/** What is still to be asked. The service suggests the same pairs until they have a verdict, so what was seen here is
 *  passed over. */
export class Queue {
  pairs = [];
  skipped = new Set();
  isWaiting = true; // for the service
  detail = null; // why there are none or few, in words
  trained = true; // whether the model that finds the pairs has learned anything
  #seen = new Set();
  #signal;
  #filling = null;

  constructor(signal) {
    this.#signal = signal;
  }

  /** Once, however often it is asked for meanwhile. */
  fill() {
    this.isWaiting = true;
    this.#filling ??= this.#fetch().finally(() => {
      this.isWaiting = false;
      this.#filling = null;
    });
    return this.#filling;
  }

  async #fetch() {
    const count = Math.min(MOST, BATCH + this.skipped.size);
    const { suggestions, trained, detail } =
      await get(`/v1/feedback/suggestions?count=${count}`, { signal: this.#signal });
    Object.assign(this, { trained, detail });
    const fresh = suggestions.filter((pair) => !this.#seen.has(nameOfPair(pair)));
    for (const pair of fresh) this.#seen.add(nameOfPair(pair));
    this.pairs.push(...fresh);
  }

  skip(pair) {
    this.skipped.add(nameOfPair(pair));
  }

  /** Ask about the skipped ones, too. */
  forgive() {
    for (const name of this.skipped) this.#seen.delete(name);
    this.skipped.clear();
  }
}

const nameOfPair = ({ left, right }) => `${left.id} ${right.id}`;
