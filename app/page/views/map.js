// The collection on a plane: what the model takes for alike lies close together.

import { go, settle, to } from "../core/addresses.js";
import { at, get } from "../core/api.js";
import { h, foreign, isolated, replace } from "../core/dom.js";
import { nameOf, picture } from "../core/pictures.js";
import { tell } from "../core/notices.js";
import { empty } from "../components/empty.js";
import { Plane } from "../components/plane.js";
import { GREY } from "../components/plane_brush.js";
import { untaught } from "../components/untaught.js";

export const title = "Map";

const LIMIT = 10_000; // points
const COLOURS = 40; // more cannot be told apart
const LISTED = 60; // categories
const NAMED_MS = 120; // that one points at an image before its name is asked for
const STEP = 120; // pixels of a button
const FACTOR = 1.6;

const HELP = "Pictures that the model takes for alike lie close together. Drag or use the arrow keys to move, the "
  + "wheel, two fingers or + and − to zoom, 0 for all; click or Enter opens a picture.";

export async function show(root, parameters, signal) {
  const stage = h("div", { class: "map-stage" }, h("p", { class: "empty", "aria-busy": "true" }, "Drawing the map…"));
  const tools = h("div", {});
  root.append(h("div", { class: "models-head" }, h("h1", {}, title), tools), stage);
  await load();

  async function load() {
    try {
      const found = await get(`/v1/map?limit=${LIMIT}`, { signal });
      if (found.points.length) drawn(stage, tools, found, parameters, signal);
      else replace(stage, nothing());
    } catch (error) {
      if (error.name === "AbortError") return;
      replace(stage, empty("The map could not be drawn.", error.message,
        h("button", { type: "button", class: "primary", on: { click: load } }, "Try again")));
    }
  }
}

function nothing() {
  return empty("There is nothing to show yet.", "The map shows how pictures lie to each other, once there are some.",
    h("a", { class: "button", href: "#/collection" }, "Add pictures"));
}

function drawn(stage, tools, { points, images, trained }, parameters, signal) {
  const categories = categoriesOf(points);
  const chosen = new Set(parameters.getAll("category"));
  const canvas = h("canvas", {
    tabindex: 0, role: "application", "aria-label": "Map of the collection", "aria-describedby": "map-help",
  });
  const card = h("div", { class: "map-card", role: "status" });
  const plane = new Plane(canvas, {
    points: coloured(points, categories), palette: categories.slice(0, COLOURS).map((_, index) => colour(index)),
    view: viewOf(parameters), signal,
    onPoint: showing(card, signal), onOpen: ({ id }) => go("image", { id }), onMove: keep,
  });
  replace(tools, controls(plane));
  replace(stage,
    untaught(trained, "places"),
    images > points.length && h("p", { class: "faint" },
      `${points.length.toLocaleString()} of ${images.toLocaleString()} pictures, drawn at random.`),
    h("div", { class: "map-frame" }, canvas, card),
    h("p", { class: "faint small", id: "map-help" }, HELP),
    legend(categories, chosen, filter));
  if (chosen.size) filter();

  function filter() {
    plane.filter(chosen.size ? ({ category }) => chosen.has(category ?? "") : () => true);
  }

  /** So that one comes back to the same place. */
  function keep({ x, y, zoom }) {
    if (signal.aborted) return;
    const place = zoom === 1 ? {} : { x: x.toFixed(4), y: y.toFixed(4), zoom: zoom.toFixed(2) };
    settle("map", { category: [...chosen], ...place });
  }
}

function viewOf(parameters) {
  const number = (name, otherwise) => {
    const value = Number.parseFloat(parameters.get(name));
    return Number.isFinite(value) ? value : otherwise;
  };
  return { x: number("x", null), y: number("y", null), zoom: number("zoom", 1) };
}

/** [{name, count}], the largest first; the name "" stands for none. */
function categoriesOf(points) {
  const counts = new Map();
  for (const { category } of points) counts.set(category ?? "", (counts.get(category ?? "") ?? 0) + 1);
  const sorted = [...counts].map(([name, count]) => ({ name, count }))
    .sort((one, two) => two.count - one.count || one.name.localeCompare(two.name));
  return [...sorted.filter(({ name }) => name), ...sorted.filter(({ name }) => !name)];
}

function coloured(points, categories) {
  const numbers = new Map(categories.slice(0, COLOURS).map(({ name }, index) => [name, index]));
  return points.map((point) => ({ ...point, colour: point.category ? numbers.get(point.category) ?? -1 : -1 }));
}

/** Neighbours in the list are far apart on the wheel of colours, by the golden angle. */
function colour(index) {
  const hue = (25 + index * 137.508) % 360;
  const step = index % 3;
  return { light: `oklch(${0.5 + 0.06 * step} 0.15 ${hue})`, dark: `oklch(${0.72 + 0.06 * step} 0.13 ${hue})` };
}

function asCss({ light, dark }) {
  return `light-dark(${light}, ${dark})`;
}

function controls(plane) {
  const button = (label, mark, run) =>
    h("button", { type: "button", "aria-label": label, title: label, on: { click: run } },
      h("span", { "aria-hidden": "true" }, mark));
  return h("div", { class: "map-controls", role: "group", "aria-label": "Move the map" },
    button("Zoom in", "+", () => plane.zoom(FACTOR)), button("Zoom out", "−", () => plane.zoom(1 / FACTOR)),
    button("Show everything", "⤢", () => plane.whole()),
    button("Move left", "←", () => plane.pan(-STEP, 0)), button("Move up", "↑", () => plane.pan(0, -STEP)),
    button("Move down", "↓", () => plane.pan(0, STEP)), button("Move right", "→", () => plane.pan(STEP, 0)));
}

/** A function that shows on the card which image is meant. */
function showing(card, signal) {
  const images = new Map();
  let timer = 0;
  let latest = null;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return (point) => {
    clearTimeout(timer);
    if (!point) return; // it stays, with its link
    latest = point;
    timer = setTimeout(async () => {
      try {
        if (!images.has(point.id)) images.set(point.id, await get(at`/v1/images/${point.id}`, { signal }));
        if (point === latest) replace(card, about(images.get(point.id)));
      } catch (error) {
        if (error.status === 404) replace(card, h("p", {}, "This picture was deleted."));
        else tell(error);
      }
    }, NAMED_MS);
  };
}

function about(image) {
  return [
    picture(image.links, ""),
    h("div", {},
      h("a", { href: to("image", { id: image.id }) }, foreign(nameOf(image), 60)),
      h("span", { class: "small" }, image.category ? foreign(image.category, 40) : "no category")),
  ];
}

/** Categories to show alone; for those who see no map, the way to the images of each. */
function legend(categories, chosen, onChange) {
  const all = h("button", { type: "button", class: "quiet", on: { click: clear } }, "Show all");
  const buttons = categories.map(({ name, count }, index) => ({ name, count, index }))
    .filter(({ name, index }) => index < LISTED || chosen.has(name))
    .map(({ name, count, index }) => ({ name, element: legendButton(name, count, index, toggle) }));
  const left = categories.length - buttons.length;
  const element = h("section", { class: "legend" },
    h("div", { class: "legend-head" }, h("h2", {}, "Categories"), all),
    h("ul", {}, buttons.map(({ name, element: button }) => h("li", {}, button,
      name && browseLink(name)))),
    left > 0 && h("p", { class: "faint" }, `${left.toLocaleString()} more, with fewer pictures, can be chosen in the `,
      h("a", { href: "#/collection" }, "collection"), "."));
  shown();
  return element;

  function clear() {
    chosen.clear();
    changed();
  }

  function toggle(name) {
    if (!chosen.delete(name)) chosen.add(name);
    changed();
  }

  function changed() {
    shown();
    onChange();
  }

  function shown() {
    all.hidden = chosen.size === 0;
    for (const { name, element: button } of buttons) button.ariaPressed = String(chosen.has(name));
  }
}

function browseLink(category) {
  const description = `Browse ${isolated(category, 60)}`;
  return h("a", { href: to("collection", { category }), "aria-label": description, title: "Browse" },
    h("span", { "aria-hidden": "true" }, "→"));
}

function legendButton(name, count, index, toggle) {
  const background = name && index < COLOURS ? asCss(colour(index)) : asCss(GREY);
  return h("button", { type: "button", "aria-pressed": "false", on: { click: () => toggle(name) } },
    h("span", { class: "swatch", style: { background } }),
    name ? foreign(name, 40) : "No category",
    h("span", { class: "number small" }, count.toLocaleString()));
}
