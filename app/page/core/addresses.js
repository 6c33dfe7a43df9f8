// Where one is: `#/search?image=a` is the view "search" with the parameter image. Going back works, and links can be
// sent.

export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path, parameters: new URLSearchParams(query) };
}

export function to(view, parameters = {}) {
  const query = queryText(parameters);
  return `#/${view}${query && `?${query}`}`;
}

/** What follows the question mark: parameters that are null or empty are left out, one of an array stands there several
 *  times. */
export function queryText(parameters) {
  const given = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]))
    .filter(([, value]) => value !== null && value !== undefined && value !== "");
  return new URLSearchParams(given).toString();
}

/** A path of the service, as seen from the page: both may be served below another path. */
export function fromHere(path) {
  return path.replace(/^\//, "");
}

export function go(view, parameters) {
  location.hash = to(view, parameters);
}

/** The same view with other parameters, without a step in the history and without showing it anew. */
export function settle(view, parameters) {
  history.replaceState(null, "", to(view, parameters));
}
