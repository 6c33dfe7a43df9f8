// What people do to a plane: drag, pinch, turn the wheel, press keys, tap.

const CLICK_REACH = 5; // pixels that a finger may slip
const STEP = 80; // pixels of an arrow key
const FACTOR = 1.5; // of a key + or -
const WHEEL_RATE = 0.0015; // of zoom for a pixel of the wheel
const LINE = 24; // pixels of a line, where the wheel counts lines
const TOUCH_REACH = 28; // pixels from a point at which a finger means it

export function gestures(canvas, plane, signal) {
  const down = new Map(); // pointers: id -> [left, top]
  let moved = 0;
  const on = (name, listener, options) => canvas.addEventListener(name, listener, { signal, ...options });

  on("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, placeOf(event));
  });
  on("pointermove", (event) => {
    if (!down.has(event.pointerId)) return plane.point(...placeOf(event));
    const before = [...down.values()];
    const from = down.get(event.pointerId);
    down.set(event.pointerId, placeOf(event));
    moved += distance(from, placeOf(event));
    if (moved > CLICK_REACH) drag(plane, before, [...down.values()]);
  });
  on("pointerup", (event) => {
    if (down.delete(event.pointerId) && down.size === 0 && moved <= CLICK_REACH) tap(plane, event);
  });
  on("pointercancel", (event) => down.delete(event.pointerId));
  // A finger that is lifted leaves, too.
  on("pointerleave", (event) => event.pointerType === "mouse" && plane.unpoint());
  on("wheel", (event) => {
    event.preventDefault();
    const turned = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1);
    plane.zoom(Math.exp(-turned * WHEEL_RATE * (event.ctrlKey ? 6 : 1)), placeOf(event)); // ctrl: pinched on a touchpad
  }, { passive: false });
  on("keydown", (event) => press(plane, event));
  on("focus", () => canvas.matches(":focus-visible") && plane.pointAtMiddle());
}

function placeOf(event) {
  return [event.offsetX, event.offsetY];
}

const distance = (one, two) => Math.hypot(one[0] - two[0], one[1] - two[1]);
const middle = (places) => [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);

/** With two fingers, what is between them stays between them. */
function drag(plane, before, after) {
  const [from, to] = [middle(before), middle(after)];
  plane.pan(from[0] - to[0], from[1] - to[1]);
  if (after.length === 2) plane.zoom(distance(...after) / Math.max(1, distance(...before)), to);
}

/** A finger cannot point before it taps: the first tap shows which image it is, the second one opens it. */
function tap(plane, event) {
  const before = plane.meant;
  plane.point(...placeOf(event), event.pointerType === "touch" ? TOUCH_REACH : undefined);
  if (event.pointerType !== "touch" || plane.meant === before) plane.open();
}

function press(plane, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    ArrowLeft: () => plane.pan(-STEP, 0), ArrowRight: () => plane.pan(STEP, 0),
    ArrowUp: () => plane.pan(0, -STEP), ArrowDown: () => plane.pan(0, STEP),
    "+": () => plane.zoom(FACTOR), "=": () => plane.zoom(FACTOR), "-": () => plane.zoom(1 / FACTOR),
    0: () => plane.whole(),
  }[event.key];
  if (event.key === "Enter") return plane.open();
  if (!action) return;
  event.preventDefault();
  action();
  plane.pointAtMiddle();
}
