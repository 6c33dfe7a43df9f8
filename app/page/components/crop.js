// The part of a picture to search by: dragged on it by mouse or finger, or set with four sliders.

import { h } from "../core/dom.js";

const LEAST = 0.04; // of a side: less is a click
const SIDES = ["left", "top", "right", "bottom"];
const WHOLE = { left: 0, top: 0, right: 1, bottom: 1 };

/** image: <img>. box: {left, top, right, bottom} as shares, null for all of it. onChange: told it when it is let go. */
export function cropper({ image, box, onChange }) {
  let now = box;
  const area = h("div", { class: "crop-box", hidden: true },
    ["nw", "ne", "sw", "se"].map((corner) => h("span", { class: `corner ${corner}`, "data-corner": corner })));
  const stage = h("div", { class: "crop-stage" }, image, area);
  const sliders = Object.fromEntries(SIDES.map((side) => [side, slider((value) => slide(side, value), settle)]));
  const mode = h("button", { type: "button", class: "small", on: { click: toggleMode } }, "Crop");
  const whole = h("button", { type: "button", class: "small", hidden: true, on: { click: reset } }, "Whole picture");
  const numbers = h("div", { class: "sliders", hidden: true }, SIDES.map((side) =>
    h("label", {}, side[0].toUpperCase() + side.slice(1), sliders[side])));
  const hint = h("span", { class: "faint small by-mouse" }, "Drag on the picture to search by a part of it.");
  const element = h("div", { class: "crop" }, stage, h("div", { class: "crop-tools" }, mode, whole, hint), numbers);

  function toggleMode() {
    const on = numbers.hidden;
    numbers.hidden = !on;
    mode.ariaExpanded = String(on);
    stage.classList.toggle("cropping", on); // fingers draw, and scroll no more
  }

  function show(value) {
    now = value;
    const { left, top, right, bottom } = value ?? WHOLE;
    area.hidden = value === null;
    const shares = { left, top, width: right - left, height: bottom - top };
    for (const [name, share] of Object.entries(shares)) area.style.setProperty(name, `${share * 100}%`);
    for (const side of SIDES) setSlider(sliders[side], (value ?? WHOLE)[side]);
  }

  function settle() {
    const isWhole = now !== null && SIDES.every((side) => Math.abs(now[side] - WHOLE[side]) < 0.005);
    show(isWhole ? null : now);
    whole.hidden = now === null;
    onChange(now);
  }

  function slide(side, value) {
    const next = { ...(now ?? WHOLE), [side]: value };
    const [least, most] = limits(next, side);
    show({ ...next, [side]: rounded(Math.min(Math.max(value, least), most)) });
  }

  function reset() {
    show(null);
    settle();
    mode.focus();
  }

  mode.ariaExpanded = "false";
  dragging(stage, { box: () => now, show, settle });
  show(box);
  whole.hidden = box === null;
  return element;
}

function slider(onInput, onSettled) {
  const input = h("input", { type: "range", min: "0", max: "100", step: "1" });
  input.addEventListener("input", () => onInput(Number(input.value) / 100));
  input.addEventListener("change", onSettled);
  return input;
}

function setSlider(input, share) {
  input.value = String(Math.round(share * 100));
  input.setAttribute("aria-valuetext", `${input.value} %`);
}

/** What one side of a box may be, so that something is left of it. */
function limits({ left, top, right, bottom }, side) {
  return {
    left: [0, right - LEAST], top: [0, bottom - LEAST], right: [left + LEAST, 1], bottom: [top + LEAST, 1],
  }[side];
}

/** Pointers on the picture: a new box, or the one there is moved or taken by a corner. */
function dragging(stage, { box, show, settle }) {
  let drag = null; // {change: (point) => box, before}

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.pointerType === "touch" && !stage.classList.contains("cropping"))) return;
    event.preventDefault(); // no dragging of the image itself
    stage.setPointerCapture(event.pointerId);
    drag = { change: changeFrom(event, pointOf(event, stage), box()), before: box() };
  });
  stage.addEventListener("pointermove", (event) => drag && show(drag.change(pointOf(event, stage))));
  stage.addEventListener("pointerup", () => finish(true));
  stage.addEventListener("pointercancel", () => finish(false));

  function finish(taken) {
    if (!drag) return;
    const { before } = drag;
    drag = null;
    const after = box();
    const isBox = after !== null && after.right - after.left >= LEAST && after.bottom - after.top >= LEAST;
    if (!taken || !isBox) return show(before);
    if (after !== before) settle();
  }
}

function changeFrom(event, start, box) {
  const corner = event.target.dataset.corner;
  if (corner) return (point) => between(oppositeOf(corner, box), point);
  if (event.target.classList.contains("crop-box")) return (point) => moved(box, point.x - start.x, point.y - start.y);
  return (point) => between(start, point);
}

function oppositeOf(corner, { left, top, right, bottom }) {
  return { x: corner.includes("w") ? right : left, y: corner.includes("n") ? bottom : top };
}

function between(a, b) {
  return { left: Math.min(a.x, b.x), top: Math.min(a.y, b.y), right: Math.max(a.x, b.x), bottom: Math.max(a.y, b.y) };
}

function moved({ left, top, right, bottom }, x, y) {
  const dx = Math.min(Math.max(x, -left), 1 - right);
  const dy = Math.min(Math.max(y, -top), 1 - bottom);
  return { left: rounded(left + dx), top: rounded(top + dy), right: rounded(right + dx), bottom: rounded(bottom + dy) };
}

function pointOf(event, stage) {
  const { left, top, width, height } = stage.getBoundingClientRect();
  return { x: share(event.clientX - left, width), y: share(event.clientY - top, height) };
}

function share(length, whole) {
  return Math.min(Math.max(rounded(length / whole), 0), 1);
}

function rounded(value) {
  return Math.round(value * 1000) / 1000; // the address shows it
}
