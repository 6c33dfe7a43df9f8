// What one can search by. Each query has pageOf(options, offset, signal), which gives a SearchAnswer; options: {k,
// category, crop}, null where not wanted.

import { at, get, post } from "../core/api.js";
import { nameOf } from "../core/pictures.js";

const KEPT = 5; // uploads one can go back to
const uploads = new Map(); // by number: {file, category}
let lastNumber = Date.now(); // none of before the page was loaded anew comes again

/** Keeps a file for `#/search?upload=NUMBER`, as long as the page stays open. */
export function keepUpload(file) {
  lastNumber += 1;
  uploads.set(String(lastNumber), { file, category: null });
  for (const number of uploads.keys()) if (uploads.size > KEPT) uploads.delete(number);
  return lastNumber;
}

/** The query that an address means, null if it names none, or a file that is gone. */
export async function queryOf(parameters, signal) {
  const upload = uploads.get(parameters.get("upload"));
  if (upload) return byUpload(upload);
  const image = parameters.get("image");
  if (image) return byImage(await get(at`/v1/images/${image}`, { signal }));
  const ids = (name) => (parameters.get(name) ?? "").split(",").filter(Boolean);
  const [like, unlike] = [ids("like"), ids("unlike")];
  return like.length ? byExamples(await examples(like, true, signal), await examples(unlike, false, signal)) : null;
}

/** A file is sent once: what follows goes by the name that the service gave it. */
function byUpload(upload) {
  const sent = { id: null, crop: undefined };

  async function pageOf({ k, category, crop }, offset, signal) {
    if (offset && sent.id !== null && sent.crop === crop) {
      const body = { by: "examples", positives: [sent.id], ...filled({ k, category, offset }) };
      return post("/v1/search", body, { signal });
    }
    const body = new FormData();
    body.append("file", upload.file);
    for (const [name, value] of Object.entries(filled({ k, category, offset }))) body.append(name, value);
    if (crop) body.append("crop", JSON.stringify(crop));
    const answer = await post("/v1/search", body, { signal });
    Object.assign(sent, { id: answer.query_id, crop });
    return answer;
  }

  const name = upload.file.name || "Pasted picture";
  return { upload, name, category: upload.category, reference: () => null, pageOf };
}

function byImage(image) {
  return {
    image, name: nameOf(image), category: image.category,
    reference: (crop) => (crop ? null : image.id), // a part has a name of its own, from the answer
    pageOf: (options, offset, signal) =>
      post("/v1/search", { by: "image", image_id: image.id, ...filled({ ...options, offset }) }, { signal }),
  };
}

function byExamples(likes, unlikes) {
  const categories = new Set(likes.map(({ category }) => category));
  return {
    examples: [...likes, ...unlikes], name: null, category: categories.size === 1 ? [...categories][0] : null,
    reference: () => null,
    pageOf: ({ k, category }, offset, signal) => post("/v1/search", {
      by: "examples", positives: likes.map(({ id }) => id), negatives: unlikes.map(({ id }) => id),
      ...filled({ k, category, offset }),
    }, { signal }),
  };
}

function examples(ids, like, signal) {
  return Promise.all(ids.map((id) => example(id, like, signal)));
}

async function example(id, like, signal) {
  try {
    const image = await get(at`/v1/images/${id}`, { signal });
    return { id, like, links: image.links, name: nameOf(image), category: image.category };
  } catch (error) {
    if (error.code !== "unknown_image") throw error;
    return { id, like, links: null, name: id, category: null }; // a query, or one that is deleted: the search tells
  }
}

function filled(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null && value !== undefined));
}
