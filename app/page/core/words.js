// How the page says amounts and times.

import { h } from "./dom.js";

const KILO = 1e3;
const MEGA = 1e6;

/** "1 picture", "2,000 pictures". */
export function counted(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

export function percent(share, digits = 0) {
  return `${(share * 100).toFixed(digits)} %`;
}

/** Of a file. */
export function size(bytes) {
  return bytes < MEGA ? `${Math.ceil(bytes / KILO)} kB` : `${(bytes / MEGA).toFixed(1)} MB`;
}

/** A time of the service, in the words of where the person is. */
export function moment(text) {
  const shown = new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: text }, shown);
}
