// Pictures of the collection as <img>. With a key they cannot be loaded by address, so they are fetched when they come
// near the screen.

import { fromHere } from "./addresses.js";
import { blob, hasKey } from "./api.js";
import { cut, h } from "./dom.js";

const SHOWN_BY_BROWSERS = ["image/jpeg", "image/png", "image/webp", "image/gif", "image/avif", "image/bmp"];

const waiting = new WeakMap();
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      load(target, waiting.get(target));
    }
  },
  { rootMargin: "400px" },
);

/** links: of an image or a neighbour. alt: what it shows, for those who cannot see it. whole: the original. */
export function picture(links, alt, { whole = false, ...attributes } = {}) {
  const path = whole ? links.file : links.thumbnail;
  const image = h("img", { alt, decoding: "async", ...attributes });
  if (hasKey()) {
    waiting.set(image, path);
    near.observe(image);
  } else {
    image.loading = "lazy";
    image.src = fromHere(path);
    image.addEventListener("error", () => broken(image));
  }
  return image;
}

/** Whether the original can stand in an <img>. */
export function isShownByBrowsers({ media_type }) {
  return SHOWN_BY_BROWSERS.includes(media_type);
}

/** What to call an image in a few words. Its metadata may hold anything under "name". */
export function nameOf(image) {
  const name = image.metadata?.name;
  return typeof name === "string" && name.trim() ? cut(name, 200) : image.id;
}

export function describe(image) {
  return image.category ? `${nameOf(image)}, ${image.category}` : nameOf(image);
}

/** A picture that is not in the collection, from a File or a Blob. */
export function local(file, alt, attributes = {}) {
  const image = h("img", { alt, ...attributes });
  show(image, file);
  return image;
}

async function load(image, path) {
  try {
    show(image, await blob(path));
  } catch {
    broken(image);
  }
}

function show(image, content) {
  const address = URL.createObjectURL(content);
  const release = () => URL.revokeObjectURL(address);
  image.addEventListener("load", release, { once: true });
  image.addEventListener("error", () => (release(), broken(image)), { once: true });
  image.src = address;
}

function broken(image) {
  image.classList.add("broken");
}
