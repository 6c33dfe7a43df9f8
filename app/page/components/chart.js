// Figures as SVG, drawn again where their width changes, so that text keeps its size.

import { h, replace, s } from "../core/dom.js";
import { percent } from "../core/words.js";

const HEIGHT = 200;
const MARGIN = { top: 16, right: 16, bottom: 28, left: 46 };
const DOT = 4.5;

/** A line over versions, old to new. points: {label, value, low, high, mark, told}: value in 0..1; low and high, of the
 *  interval, or null; mark: whether it is the one in use; told: in words. Who cannot see it needs a table beside it. */
export function lineChart({ title, points, signal }) {
  const canvas = h("div", { class: "chart" });
  const draw = () => canvas.clientWidth && replace(canvas, drawing(title, points, canvas.clientWidth));
  const watch = new ResizeObserver(draw);
  watch.observe(canvas);
  signal.addEventListener("abort", () => watch.disconnect());
  return canvas;
}

function drawing(title, points, width) {
  const [least, most, step] = range(points.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]));
  const x = (index) => points.length === 1
    ? (MARGIN.left + width - MARGIN.right) / 2
    : MARGIN.left + DOT + (index / (points.length - 1)) * (width - MARGIN.left - MARGIN.right - 2 * DOT);
  const y = (value) => MARGIN.top + ((most - value) / (most - least)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const description = `${title}: ${told(points)}`;
  return s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": description },
    grid(least, most, step, y, width),
    s("polyline", { class: "line", points: points.map(({ value }, index) => `${x(index)},${y(value)}`).join(" ") }),
    points.map((point, index) => dot(point, x(index), y)),
    labels(points, x, width));
}

/** Lines at round values. */
function grid(least, most, step, y, width) {
  const count = Math.round((most - least) / step);
  return Array.from({ length: count + 1 }, (_, index) => least + index * step).map((value) => s("g", {},
    s("line", { class: "rule", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
    s("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, percent(value))));
}

function dot({ value, low, high, mark, told: words }, x, y) {
  return s("g", { class: mark ? "dot marked" : "dot" },
    s("title", {}, words),
    low !== null && s("line", { class: "whisker", x1: x, x2: x, y1: y(low), y2: y(high) }),
    s("circle", { cx: x, cy: y(value), r: mark ? DOT + 1.5 : DOT }));
}

/** As many as there is room for, always with the newest. */
function labels(points, x, width) {
  const each = Math.ceil(points.length / Math.max(1, Math.floor((width - MARGIN.left) / 84)));
  return points.map(({ label }, index) => {
    if ((points.length - 1 - index) % each) return null;
    const anchor = points.length === 1 ? "middle" : index === points.length - 1 ? "end" : index ? "middle" : "start";
    return s("text", { x: x(index), y: HEIGHT - 8, "text-anchor": anchor }, label);
  });
}

/** [least, most, step] around the values, in round shares of 1. */
function range(values) {
  const low = Math.max(0, Math.min(...values));
  const high = Math.min(1, Math.max(...values));
  const step = [0.01, 0.02, 0.05, 0.1, 0.25].find((each) => (high - low) / each <= 4) ?? 0.25;
  const least = Math.max(0, Math.floor(low / step) * step);
  return [least, Math.max(least + step, Math.ceil(high / step - 1e-9) * step), step];
}

function told(points) {
  return points.map((point) => `${point.label} ${percent(point.value, 1)}${point.mark ? " (active)" : ""}`).join(", ");
}

/** A difference of two shares, in points of percent. */
export function difference(value, digits = 1) {
  const text = Math.abs(value * 100).toFixed(digits);
  if (Number(text) === 0) return `±${text}`;
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** A bar from 0 to the left or right. value: -1..1; reach: the greatest there is. */
export function changeBar(value, reach) {
  const share = reach ? Math.min(1, Math.abs(value) / reach) * 50 : 0;
  return h("span", { class: "change-bar", "aria-hidden": "true" },
    h("span", {
      class: value < 0 ? "loss" : "gain",
      style: { width: `${share}%`, "inset-inline-start": value < 0 ? `${50 - share}%` : "50%" },
    }));
}

/** Where an interval lies about 0: reach as in changeBar. */
export function intervalBar({ difference: middle, low, high }, reach) {
  const place = (value) => `${50 + (Math.max(-reach, Math.min(reach, value)) / (reach || 1)) * 50}%`;
  const width = `calc(${place(high)} - ${place(low)})`;
  return h("span", { class: "interval-bar", "aria-hidden": "true" },
    h("span", { class: "span", style: { "inset-inline-start": place(low), width } }),
    h("span", { class: "middle", style: { "inset-inline-start": place(middle) } }));
}
