// Elements from plain calls. Text is always text: there is no way from here to markup (the policy forbids it, too).

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. attributes: names as in HTML; `on: {click: f}` for listeners, `style: {"--x": 1}`, false or null
 *  leaves one out. children: nodes, texts, arrays of them; null and false are passed over. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A text of somebody else, such as a file name: its direction is its own affair. limit: characters to show. */
export function foreign(text, limit = 300) {
  const whole = String(text);
  const shown = whole.length > limit ? `${cut(whole, limit)}…` : whole;
  return h("bdi", { class: "foreign", title: whole.length > limit ? `${whole.length} characters` : null }, shown);
}

/** The same where no element can stand, such as in an option or a label. */
export function isolated(text, limit = 200) {
  const whole = String(text);
  return `\u2068${whole.length > limit ? `${cut(whole, limit)}…` : whole}\u2069`;
}

/** The beginning of a text, without half a character at the end. */
export function cut(text, limit) {
  return text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
}

export function replace(parent, ...children) {
  parent.replaceChildren(...flat(children));
  return parent;
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
