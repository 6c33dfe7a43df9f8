// What is searched by, and how: the picture and its part, its category, the filter, how many at a time.

import { go, to } from "../core/addresses.js";
import { foreign, h } from "../core/dom.js";
import { fileButton } from "../core/files.js";
import { local, picture } from "../core/pictures.js";
import { categoryField } from "./category_field.js";
import { cropper } from "./crop.js";
import { markedParameters } from "./examples.js";

/** query: of queryOf. options: {k, category, crop} as they are. onOption(name, value): one changed. onKnown(category):
 *  the person knows the query's category. onFile: another picture. */
export function queryPanel({ query, options, onOption, onKnown, onFile }) {
  return h("section", { class: "query", "aria-label": "Query" },
    h("h1", { tabindex: "-1" },
      query.examples ? "Same kind as these" : [h("span", {}, "Same kind as "), foreign(query.name, 60)]),
    query.examples ? exampleList(query.examples) : cropped(query, options.crop, (crop) => onOption("crop", crop)),
    known(query, onKnown),
    h("div", { class: "options" },
      categoryField({
        value: options.category, label: "Show only", onChange: (category) => onOption("category", category),
      }),
      howMany(options.k, (k) => onOption("k", k)),
    ),
    h("p", { class: "others" },
      fileButton("Another picture", onFile),
      query.image && h("a", { class: "button", href: to("image", { id: query.image.id }) }, "About this one"),
    ),
  );
}

function cropped(query, crop, onChange) {
  const image = query.upload ? local(query.upload.file, "The picture searched by")
    : picture(query.image.links, "The picture searched by", { whole: true });
  const place = h("div", {}, cropper({ image, box: crop, onChange }));
  image.addEventListener("error", () => place.replaceChildren(instead(query)), { once: true });
  return place;
}

/** Browsers show fewer formats than the service reads. */
function instead(query) {
  if (query.image) return picture(query.image.links, "The picture searched by");
  return h("p", { class: "card small" }, "This browser cannot show the file; the service may well read it.");
}

function exampleList(examples) {
  const side = (label, like) => {
    const some = examples.filter((each) => each.like === like);
    return some.length > 0 && h("div", { class: like ? "side" : "side unlike" },
      h("h2", {}, label),
      h("ul", { role: "list" }, some.map((each) => h("li", {}, exampleButton(each)))),
    );
  };
  return h("div", { class: "searched-by" }, side("More like", true), side("Not like", false));
}

function exampleButton(each) {
  return h("button", {
    type: "button", "aria-label": `Without ${each.name}`, title: `Without ${each.name}`,
    on: { click: () => go("search", markedParameters(each.id)) },
  }, each.links ? picture(each.links, "") : "?", h("span", { class: "off", "aria-hidden": "true" }, "×"));
}

function known(query, onKnown) {
  if (query.upload) {
    const label = "Its category, if you know it";
    return categoryField({ value: query.category, label, none: "Not known", onChange: onKnown });
  }
  const whose = query.examples ? "Their category: " : "Its category: ";
  return query.category !== null && h("p", {}, h("span", { class: "faint" }, whose), foreign(query.category, 80));
}

function howMany(k, onChange) {
  const field = h("input", { type: "number", min: "1", step: "1", value: k, inputmode: "numeric" });
  field.addEventListener("change", () => field.checkValidity() && field.value && onChange(Number(field.value)));
  return h("label", {}, "At a time (k)", field);
}
