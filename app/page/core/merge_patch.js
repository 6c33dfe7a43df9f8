// JSON merge patches (RFC 7396): what to send so that the service's object becomes ours.

/** The patch from before to after, two objects; undefined: they are equal. null within after cannot be told. */
export function mergePatch(before, after) {
  const patch = {};
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) set(patch, name, null);
  for (const [name, value] of Object.entries(after)) {
    const former = Object.hasOwn(before, name) ? before[name] : undefined;
    const change = isObject(former) && isObject(value) ? mergePatch(former, value) : changed(former, value);
    if (change !== undefined) set(patch, name, change);
  }
  return Object.keys(patch).length ? patch : undefined;
}

function changed(before, after) {
  return JSON.stringify(before) === JSON.stringify(after) ? undefined : after;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As a member of its own, also where its name is __proto__. */
function set(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
