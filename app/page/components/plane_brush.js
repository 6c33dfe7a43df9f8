// How a point looks: a dot, a picture, and the ring around the one that is meant. In the page's colours, light or dark.

export const GREY = { light: "#6b7076", dark: "#a7abb0" }; // of a point without a colour
const GROUND = { light: "#f0eeea", dark: "#101213" };
const FRAME = 2; // pixels around a picture

export class Brush {
  #context; #palette;
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #dots = []; #key = "";

  /** palette: [{light, dark}], by number. */
  constructor(context, palette) {
    this.#context = context;
    this.#palette = palette;
  }

  /** A drawing of a dot in each colour, to be copied; the first is the one without. ratio: pixels of it for one. */
  dots(radius, ratio) {
    const key = `${radius} ${ratio} ${this.#scheme.matches}`;
    if (key !== this.#key) {
      this.#key = key;
      this.#dots = [GREY, ...this.#palette].map((colour) => dotOf(this.#now(colour), radius, ratio, this.#now(GROUND)));
    }
    return this.#dots;
  }

  /** Within a square of this size around the place, framed in its colour. */
  picture(bitmap, colour, [x, y], size) {
    const factor = size / Math.max(bitmap.width, bitmap.height);
    const [width, height] = [bitmap.width * factor, bitmap.height * factor];
    this.#context.fillStyle = this.#now(this.#palette[colour] ?? GREY);
    this.#context.fillRect(x - width / 2 - FRAME, y - height / 2 - FRAME, width + 2 * FRAME, height + 2 * FRAME);
    this.#context.drawImage(bitmap, x - width / 2, y - height / 2, width, height);
  }

  ring([x, y], radius) {
    this.#stroke(() => this.#context.arc(x, y, radius, 0, 2 * Math.PI));
  }

  frame([x, y], reach) {
    this.#stroke(() => this.#context.roundRect(x - reach, y - reach, 2 * reach, 2 * reach, 6));
  }

  #stroke(path) {
    this.#context.lineWidth = 3;
    this.#context.strokeStyle = getComputedStyle(this.#context.canvas).color;
    this.#context.beginPath();
    path();
    this.#context.stroke();
  }

  #now({ light, dark }) {
    return this.#scheme.matches ? dark : light;
  }
}

function dotOf(colour, radius, ratio, edge) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil((2 * radius + 2) * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = colour;
  context.strokeStyle = edge; // so that one can tell them apart where they lie on each other
  context.beginPath();
  context.arc(radius + 1, radius + 1, radius, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  return canvas;
}
