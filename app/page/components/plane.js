// Points on a canvas that one can move over and zoom into. It draws what is to be seen, once a frame at most.

import { gestures } from "./gestures.js";
import { Brush } from "./plane_brush.js";
import { layout } from "./plane_layout.js";
import { thumbnails } from "./thumbnails.js";

const PADDING = 40; // pixels around everything
const MAX_ZOOM = 400;
const NEAR = 16; // pixels from a point at which it is meant
const CROWD = 600; // with more in the window, no pictures are shown
const MOST_PICTURES = 150; // at once
const SETTLED_MS = 120;

/** points: {id, x, y, colour}, x and y in 0..1, colour: number of one in palette, -1 for none. view: {x, y, zoom}:
 *  what is in the middle (null: the middle of all), and how much larger than the whole. onPoint: told the point that is
 *  meant, or null. onOpen: told one that was chosen. onMove: told the view when it rests. */
export class Plane {
  #canvas; #context; #points; #drawn; #box; #thumbnails; #signal;
  #onPoint; #onOpen; #onMove;
  #width = 0; #height = 0; #ratio = 1;
  #isShown = () => true;
  #pictures = []; // points with a picture, at this zoom
  #zoomOfPictures = null;
  #frame = 0; #timer = 0;
  #brush;
  view;
  meant = null;

  constructor(canvas, { points, palette, view, signal, onPoint, onOpen, onMove }) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    this.#points = points;
    this.#drawn = points.toSorted((one, two) => (one.colour >= 0) - (two.colour >= 0)); // colours over grey
    this.#brush = new Brush(this.#context, palette);
    this.#box = boxOf(points);
    this.view = { x: view.x ?? this.#box.x, y: view.y ?? this.#box.y, zoom: bounded(view.zoom) };
    this.#onPoint = onPoint;
    this.#onOpen = onOpen;
    this.#onMove = onMove;
    this.#signal = signal;
    this.#thumbnails = thumbnails({ signal, onLoad: () => this.draw() });
    gestures(canvas, this, signal);
    const watch = new ResizeObserver(() => this.#fitToElement());
    watch.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => this.draw(), { signal });
    signal.addEventListener("abort", () => {
      watch.disconnect();
      cancelAnimationFrame(this.#frame);
      clearTimeout(this.#timer);
    });
  }

  /** Only these are shown and found; the others are hints. */
  filter(isShown) {
    this.#isShown = isShown;
    this.#zoomOfPictures = null;
    this.#mean(null);
    this.draw();
    this.#rest();
  }

  pan(right, down) {
    const scale = this.#scale();
    this.#look({ x: this.view.x + right / scale, y: this.view.y + down / scale });
  }

  /** About a place on the canvas, which stays where it is; by default its middle. */
  zoom(factor, [left, top] = [this.#width / 2, this.#height / 2]) {
    const [x, y] = this.#placeAt(left, top);
    const zoom = bounded(this.view.zoom * factor);
    const scale = this.#scale(zoom);
    this.#look({ x: x - (left - this.#width / 2) / scale, y: y - (top - this.#height / 2) / scale, zoom });
  }

  whole() {
    this.#look({ x: this.#box.x, y: this.#box.y, zoom: 1 });
  }

  /** Mean the point at this place on the canvas, or none. */
  point(left, top, reach = NEAR) {
    this.#mean(this.#pictureAt(left, top) ?? this.#nearest(left, top, reach));
  }

  /** For keyboards: the one nearest to the middle. */
  pointAtMiddle() {
    this.#mean(this.#nearest(this.#width / 2, this.#height / 2, Infinity));
  }

  unpoint() {
    this.#mean(null);
  }

  open() {
    if (this.meant) this.#onOpen(this.meant);
  }

  draw() {
    if (!this.#signal.aborted) this.#frame ||= requestAnimationFrame(() => ((this.#frame = 0), this.#drawNow()));
  }

  #look(view) {
    Object.assign(this.view, view);
    const { x, y, width, height } = this.#box;
    this.view.x = Math.min(x + width / 2, Math.max(x - width / 2, this.view.x));
    this.view.y = Math.min(y + height / 2, Math.max(y - height / 2, this.view.y));
    this.draw();
    this.#rest();
  }

  /** When it has not moved for a moment. */
  #rest() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#thumbnails.want(this.#visiblePictures().map(({ id }) => id));
      this.#onMove(this.view);
    }, SETTLED_MS);
  }

  #mean(point) {
    if (point === this.meant) return;
    this.meant = point;
    this.#onPoint(point);
    this.draw();
  }

  #fitToElement() {
    this.#ratio = Math.min(2, devicePixelRatio);
    this.#width = this.#canvas.clientWidth;
    this.#height = this.#canvas.clientHeight;
    this.#canvas.width = Math.round(this.#width * this.#ratio);
    this.#canvas.height = Math.round(this.#height * this.#ratio);
    this.#zoomOfPictures = null;
    this.#drawNow(); // the canvas is empty now
    this.#rest();
  }

  /** Pixels for a distance of 1. */
  #scale(zoom = this.view.zoom) {
    const { width, height } = this.#box;
    const whole = Math.min((this.#width - 2 * PADDING) / width, (this.#height - 2 * PADDING) / height);
    return Math.max(1, whole) * zoom;
  }

  #placeAt(left, top) {
    const scale = this.#scale();
    return [this.view.x + (left - this.#width / 2) / scale, this.view.y + (top - this.#height / 2) / scale];
  }

  #nearest(left, top, reach) {
    const scale = this.#scale();
    const [x, y] = this.#placeAt(left, top);
    let [found, least] = [null, (reach / scale) ** 2];
    for (const point of this.#points) {
      const squared = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (squared < least && this.#isShown(point)) [found, least] = [point, squared];
    }
    return found;
  }

  #pictureAt(left, top) {
    const half = this.#pictureSize() / 2;
    const [x, y] = this.#placeAt(left, top);
    const reach = half / this.#scale();
    return this.#visiblePictures().findLast((point) =>
      this.#thumbnails.get(point.id) && Math.abs(point.x - x) < reach && Math.abs(point.y - y) < reach) ?? null;
  }

  #pictureSize() {
    return Math.min(112, 52 * this.view.zoom ** 0.3);
  }

  #visiblePictures() {
    if (this.view.zoom ** 2 * CROWD < this.#points.length) return [];
    if (this.#zoomOfPictures !== this.view.zoom) {
      this.#zoomOfPictures = this.view.zoom;
      this.#pictures = layout(this.#points.filter(this.#isShown), this.#pictureSize() / this.#scale());
    }
    const [left, top] = this.#placeAt(-NEAR, -NEAR);
    const [right, bottom] = this.#placeAt(this.#width + NEAR, this.#height + NEAR);
    const isInside = ({ x, y }) => x >= left && x <= right && y >= top && y <= bottom;
    return this.#pictures.filter(isInside).slice(0, MOST_PICTURES);
  }

  #drawNow() {
    const context = this.#context;
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.clearRect(0, 0, this.#width, this.#height);
    const scale = this.#scale();
    const offsetX = this.#width / 2 - this.view.x * scale;
    const offsetY = this.#height / 2 - this.view.y * scale;
    const at = ({ x, y }) => [x * scale + offsetX, y * scale + offsetY];
    this.#drawDots(scale, offsetX, offsetY);
    const pictures = this.#visiblePictures();
    for (const point of pictures) {
      const bitmap = this.#thumbnails.get(point.id);
      if (bitmap) this.#brush.picture(bitmap, point.colour, at(point), this.#pictureSize());
    }
    if (this.meant) this.#drawRing(at(this.meant), pictures.includes(this.meant));
  }

  #drawRing(place, hasRoom) {
    if (hasRoom && this.#thumbnails.get(this.meant.id)) this.#brush.frame(place, this.#pictureSize() / 2 + 4);
    else this.#brush.ring(place, this.#radius() + 4);
  }

  /** Ten thousand at a time: each is the copy of a dot that was drawn before. */
  #drawDots(scale, offsetX, offsetY) {
    const context = this.#context;
    const radius = this.#radius();
    const dots = this.#brush.dots(radius, this.#ratio);
    const size = 2 * radius + 2;
    for (const isHint of [true, false]) {
      context.globalAlpha = isHint ? 0.15 : 1;
      for (const point of this.#drawn) {
        const left = point.x * scale + offsetX - size / 2;
        const top = point.y * scale + offsetY - size / 2;
        if (left < -size || top < -size || left > this.#width || top > this.#height) continue;
        if (this.#isShown(point) !== isHint) context.drawImage(dots[point.colour + 1], left, top, size, size);
      }
    }
    context.globalAlpha = 1;
  }

  #radius() {
    const few = this.#points.length > 3000 ? 2.5 : 4;
    return few + Math.min(3, Math.round(Math.log2(this.view.zoom)) / 2);
  }
}

function bounded(zoom) {
  return Math.min(MAX_ZOOM, Math.max(1, zoom));
}

/** {x, y, width, height} of all points: the middle and the extent, which is never nothing. */
function boxOf(points) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y } of points) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return {
    x: (left + right) / 2, y: (top + bottom) / 2,
    width: Math.max(1e-3, right - left), height: Math.max(1e-3, bottom - top),
  };
}
