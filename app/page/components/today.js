// How many verdicts were given in this browser today.

import { ofBrowser } from "../core/storage.js";

const TODAY = "samekind.today";

export function today() {
  const { day, count } = JSON.parse(ofBrowser.getItem(TODAY) ?? "{}");
  return day === dayOf(new Date()) ? count : 0;
}

export function countToday(more) {
  ofBrowser.setItem(TODAY, JSON.stringify({ day: dayOf(new Date()), count: Math.max(0, today() + more) }));
}

const dayOf = (date) => date.toLocaleDateString("sv"); // as in 2026-05-17, where the person is
