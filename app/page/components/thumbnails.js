// Small pictures for a canvas: a few are fetched at a time, the latest asked for are kept.

import { at, blob } from "../core/api.js";

const AT_ONCE = 6;
const KEPT = 400; // about 90 kB each
const HEIGHT = 128; // pixels

/** {get, want}: get(id) is a bitmap or undefined; want(ids) has those fetched, and forgets what was wanted before. */
export function thumbnails({ signal, onLoad }) {
  const kept = new Map(); // id -> bitmap, or null if there is none; the one used longest ago first
  let wanted = [];
  let running = 0;
  signal.addEventListener("abort", () => {
    for (const bitmap of kept.values()) bitmap?.close();
  });

  function get(id) {
    const bitmap = kept.get(id);
    if (bitmap) {
      kept.delete(id);
      kept.set(id, bitmap);
    }
    return bitmap;
  }

  function want(ids) {
    wanted = ids.filter((id) => !kept.has(id));
    while (running < AT_ONCE && wanted.length) fetchNext();
  }

  async function fetchNext() {
    const id = wanted.shift();
    running++;
    keep(id, await bitmapOf(id, signal));
    running--;
    if (signal.aborted) return;
    onLoad();
    if (wanted.length) fetchNext();
  }

  function keep(id, bitmap) {
    if (signal.aborted) return bitmap?.close();
    kept.set(id, bitmap);
    if (kept.size <= KEPT) return;
    const [[oldest, released]] = kept;
    kept.delete(oldest);
    released?.close();
  }

  return { get, want };
}

/** null if there is none: deleted meanwhile, or the service is away. The dot stays. */
async function bitmapOf(id, signal) {
  try {
    const content = await blob(at`/v1/images/${id}/thumbnail`, { signal });
    return await createImageBitmap(content, { resizeHeight: HEIGHT, resizeQuality: "medium" });
  } catch {
    return null;
  }
}
