// Verdicts on their way to the service.

import { at, post, remove } from "./api.js";

const SOURCE = "page";

/** left, right: ids of images or queries. Resolves with what `takeBack` takes. */
export async function give(left, right, similar) {
  const { feedback_id } = await post("/v1/feedback", { source: SOURCE, pairs: [{ left, right, similar }] });
  return feedback_id;
}

/** feedbackId: of `give`; null: it had been said before, and stays said. */
export async function takeBack(feedbackId) {
  if (feedbackId !== null) await remove(at`/v1/feedback/${feedbackId}`);
}
