// What the caller may do. The service decides; this only spares people buttons that it would refuse.

import { get } from "./api.js";

const EVERYTHING = "admin";

let asked = null;

document.addEventListener("samekind:key", () => (asked = null));

/** reader, writer or admin. Where it cannot be told, everything is shown, and a refusal is told when it comes. */
export function role() {
  asked ??= get("/v1/whoami").then((caller) => caller.role, () => EVERYTHING);
  return asked;
}

/** Hides from a reader what has the class for-writers. */
export async function fitToRole(root) {
  root.dataset.role = await role();
}
