// Calls of the HTTP API. A refusal becomes an ApiError with the problem document's words.

import { fromHere } from "./addresses.js";
import { ofBrowser, ofTab } from "./storage.js";

const KEY = "samekind.key";
const PATIENCE = 3; // tries, where the service says when to come again
const LONGEST_WAIT_S = 10;

let key = remembered();
let askForKey = async () => false;
let hasDeclined = false; // to give a key: then one is not asked again and again, but told what to press

class ApiError extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** How to get a key from the person: an async function that calls setKey and tells whether it did. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export function hasKey() {
  return key !== "";
}

/** remember: beyond this tab. */
export function setKey(value, remember = false) {
  key = value;
  hasDeclined = false;
  ofTab.removeItem(KEY);
  ofBrowser.removeItem(KEY);
  if (value) (remember ? ofBrowser : ofTab).setItem(KEY, value);
}

export const get = (path, options) => json("GET", path, options);
export const post = (path, body, options) => json("POST", path, { ...options, body });
export const patch = (path, body, options) => json("PATCH", path, { ...options, body });
export const remove = (path, options) => json("DELETE", path, options);

/** A path with its parts escaped: at`/v1/images/${id}`. */
export function at(texts, ...values) {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

/** The answer as JSON, null if it has no body. body: FormData, or what becomes JSON. signal: to give up. */
export async function json(method, path, options) {
  const response = await answer(method, path, options);
  return response.status === 204 ? null : response.json();
}

/** The answer as a Blob. */
export async function blob(path, options) {
  return (await answer("GET", path, options)).blob();
}

/** The Response of a call that went well, for those whose status says something. */
export async function answer(method, path, { body, signal } = {}) {
  for (let attempt = 1; ; attempt++) {
    const used = key;
    const response = await fetched(method, path, body, signal);
    if (response.ok) return response;
    const error = await refusal(response);
    const isBusy = [429, 503].includes(error.status);
    const wait = Number(response.headers.get("Retry-After"));
    if (isBusy && wait > 0 && wait <= LONGEST_WAIT_S && attempt < PATIENCE) {
      await pause(wait * 1000, signal);
    } else if (error.status === 401 && (key !== used || (await keyIsGiven()))) {
      attempt = 0;
    } else throw error;
  }
}

async function keyIsGiven() {
  if (hasDeclined) return false;
  const isGiven = await askForKey();
  hasDeclined = !isGiven;
  return isGiven;
}

async function fetched(method, path, body, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  try {
    // `omit`: a key is all that counts.
    return await fetch(fromHere(path), {
      method, headers, signal, credentials: "omit", body: body === undefined || isForm ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The service does not answer: is it running?");
  }
}

async function refusal(response) {
  // The problem document tells programs which header to send.
  if (response.status === 401) return new ApiError(401, "unauthenticated", "This needs a key: press “Key” above.");
  try {
    const problem = await response.json();
    return new ApiError(response.status, problem.code, problem.detail);
  } catch {
    return new ApiError(response.status, "unknown", `The service answered ${response.status}.`);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function remembered() {
  return ofTab.getItem(KEY) ?? ofBrowser.getItem(KEY) ?? "";
}
