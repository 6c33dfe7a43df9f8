// One pair at a time: what people say about the pairs, and the labels, that the next model would learn most from.

import { to } from "../core/addresses.js";
import { at, patch } from "../core/api.js";
import { h, foreign, isolated, replace } from "../core/dom.js";
import { give, takeBack } from "../core/feedback.js";
import { tell } from "../core/notices.js";
import { describe, isShownByBrowsers, nameOf, picture } from "../core/pictures.js";
import { role } from "../core/roles.js";
import { percent } from "../core/words.js";
import { empty } from "../components/empty.js";
import { Queue } from "../components/pair_queue.js";
import { onKeys, shortcutSwitch } from "../components/shortcuts.js";
import { countToday, today } from "../components/today.js";
import { untaught } from "../components/untaught.js";

export const title = "Teach";

const FEW_LEFT = 6; // then more are fetched
const MAX_WHOLE_BYTES = 4e6; // of an original that is worth showing instead of its thumbnail

export async function show(root, parameters, signal) {
  const lesson = new Lesson(signal);
  root.append(...lesson.elements);
  if ((await role()) === "reader") return lesson.refuse();
  onKeys({
    s: () => lesson.answer(true), d: () => lesson.answer(false), u: () => lesson.undo(),
    n: () => lesson.skip(), " ": () => lesson.skip(), c: () => lesson.rename(),
  }, signal);
  await lesson.more();
}

/** What is shown, and what is done when one of the buttons is pressed. */
class Lesson {
  #queue; #signal; #actions;
  #stage = h("div", { class: "stage", tabindex: -1 });
  #ahead = h("div", { class: "ahead", inert: true, "aria-hidden": "true" }); // the next pair: its pictures load
  #last = h("div", { class: "last-answer", role: "status" });
  #count = h("p", { class: "today number" });
  #untaught = h("div", {});
  #answered = []; // {pair, said, sent, back}, the latest last
  #cards = new WeakMap(); // by pair
  #isUndoing = false;

  constructor(signal) {
    this.#signal = signal;
    this.#queue = new Queue(signal);
    this.#actions = makeActions(this);
    replace(this.#stage, waiting());
    this.#showCount();
  }

  get elements() {
    return [
      h("div", { class: "teach-head" }, h("h1", {}, "Same kind?"), this.#count),
      h("p", { class: "faint" }, "Your answers about these pairs teach the next model most."),
      this.#untaught,
      this.#stage, this.#actions.element, this.#last, this.#ahead,
    ];
  }

  async answer(similar) {
    const [pair] = this.#queue.pairs;
    if (!pair) return;
    await this.#say(pair, similar ? "You said: same." : "You said: different.",
      give(pair.left.id, pair.right.id, similar), takeBack);
  }

  /** Call the doubted picture what its neighbours are called. */
  async rename() {
    const [pair] = this.#queue.pairs;
    if (!pair?.doubt) return;
    const { image_id: id, category, neighbours_say: name } = pair.doubt;
    const call = (value) => patch(at`/v1/images/${id}`, { category: value });
    await this.#say(pair, ["You said: ", isolated(name), "."], call(name), () => call(category));
  }

  async #say(pair, said, sent, back) {
    const entry = { pair, said, sent, back };
    this.#answered.push(entry);
    this.#advance(); // the next one need not wait for the service
    try {
      await entry.sent;
      this.#counted(1);
      if (this.#answered.at(-1) === entry) replace(this.#last, whatTheModelThinks(entry));
    } catch (error) {
      this.#answered.splice(this.#answered.indexOf(entry), 1);
      if (["unknown_reference", "unknown_image"].includes(error.code)) this.#render(); // it was deleted meanwhile
      else this.#again(pair);
      tell(error);
    }
  }

  skip() {
    if (!this.#queue.pairs.length) return;
    this.#queue.skip(this.#queue.pairs[0]);
    replace(this.#last, h("p", {}, "Skipped."));
    this.#advance();
  }

  async undo() {
    const entry = this.#answered.at(-1);
    if (!entry || this.#isUndoing) return;
    this.#isUndoing = true;
    try {
      await entry.back(await entry.sent);
      this.#answered.splice(this.#answered.indexOf(entry), 1);
      this.#counted(-1);
      this.#again(entry.pair);
      replace(this.#last, h("p", {}, "Taken back: what do you think?"));
    } catch (error) {
      tell(error);
    } finally {
      this.#isUndoing = false;
    }
  }

  /** Have pairs to ask about. */
  async more() {
    try {
      await this.#queue.fill();
      if (this.#signal.aborted) return;
      replace(this.#untaught, untaught(this.#queue.trained, "results"));
      this.#render();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (this.#queue.pairs.length) tell(error);
      else this.#fail(error);
    }
  }

  /** Ask about the skipped ones, too. */
  forgive() {
    this.#queue.forgive();
    this.more();
  }

  refuse() {
    replace(this.#stage, empty("Your key may only read.",
      "To answer, use a writer's key: whoever runs this service makes one."));
  }

  #fail(error) {
    this.#actions.element.hidden = true;
    replace(this.#stage, empty("No pairs could be fetched.", error.message,
      button("Try again", () => this.more(), "primary")));
  }

  #advance() {
    this.#queue.pairs.shift();
    this.#render();
    if (this.#queue.pairs.length < FEW_LEFT) this.more();
  }

  #again(pair) {
    this.#queue.pairs.unshift(pair);
    this.#render();
  }

  #render() {
    const [pair, next] = this.#queue.pairs;
    const { element, mayUndo, about } = this.#actions;
    if (!pair && element.contains(document.activeElement)) this.#stage.focus(); // the buttons go away
    element.hidden = !pair;
    mayUndo(this.#answered.length > 0);
    about(pair);
    replace(this.#stage, pair ? this.#card(pair) : this.#nothing());
    replace(this.#ahead, next && this.#card(next));
  }

  #card(pair) {
    if (!this.#cards.has(pair)) this.#cards.set(pair, pairCard(pair));
    return this.#cards.get(pair);
  }

  #nothing() {
    if (this.#queue.isWaiting) return waiting();
    const skipped = this.#queue.skipped.size;
    const hasAnswered = this.#answered.length > 0;
    return empty(
      hasAnswered ? "That was all for now. Thank you!" : "There is nothing to ask about.",
      skipped ? `You skipped ${skipped}.` : this.#queue.detail ?? "Pairs come up when there are more pictures.",
      skipped > 0 && button("Show the skipped again", () => this.forgive(), "primary"),
      hasAnswered && button("Undo the last answer", () => this.undo()),
      link("Add pictures", "#/collection"), link("See the models", "#/models"));
  }

  #counted(more) {
    countToday(more);
    this.#showCount();
    document.dispatchEvent(new Event("samekind:changed"));
  }

  #showCount() {
    replace(this.#count, `${today().toLocaleString()} today`);
  }
}

function waiting() {
  return h("p", { class: "empty", "aria-busy": "true" }, "Looking for pairs…");
}

function button(label, run, className = null) {
  return h("button", { type: "button", class: className, on: { click: run } }, label);
}

function link(label, href) {
  return h("a", { class: "button", href }, label);
}

/** Only the pictures: names, categories and what the model thinks would be taken for a hint. But where the question is
 *  whether a label is right, it must be told, and its picture is the first one. */
function pairCard({ left, right, doubt }) {
  const [first, second] = doubt?.image_id === right.id ? [right, left] : [left, right];
  return h("div", { class: "pair", role: "group", "aria-label": "Two pictures" },
    doubt && labelQuestion(doubt),
    large(first, "First picture"), large(second, "Second picture"));
}

function labelQuestion({ category, neighbours_say: name, share }) {
  return h("p", { class: "label-question" },
    h("strong", {}, "Is this label right?"), " The first picture is called ", h("b", {}, isolated(category)), "; ",
    `${percent(share)} of the pictures most like it are called `, h("b", {}, isolated(name)), ", as the second one is.");
}

/** The thumbnail, at once; over it the original, as soon as it is there. One that cannot be shown hides itself. */
function large(image, what) {
  const isWorthIt = isShownByBrowsers(image) && image.byte_size <= MAX_WHOLE_BYTES;
  return h("div", { class: "large" },
    picture(image.links, `${what}: ${nameOf(image)}`),
    isWorthIt && picture(image.links, "", { whole: true }));
}

function makeActions(lesson) {
  const keyed = (label, key, className, run) =>
    h("button", { type: "button", class: className, "aria-keyshortcuts": key, on: { click: run } },
      label, h("kbd", { "aria-hidden": "true" }, key));
  const rename = keyed("Rename", "C", "rename", () => lesson.rename());
  const undo = keyed("Undo", "U", "quiet", () => lesson.undo());
  const element = h("div", { class: "teach-actions", hidden: true },
    h("div", { class: "answers", role: "group", "aria-label": "Your answer" },
      keyed("✓ Same", "S", "same", () => lesson.answer(true)),
      keyed("✗ Different", "D", "different", () => lesson.answer(false)),
      rename,
      keyed("Skip", "N", "pass", () => lesson.skip())),
    h("div", { class: "teach-more" }, undo, shortcutSwitch()));
  function about(pair) {
    rename.hidden = !pair?.doubt;
    if (pair?.doubt) rename.firstChild.replaceWith(h("span", {}, "It is ", isolated(pair.doubt.neighbours_say)));
  }

  return { element, about, mayUndo: (may) => (undo.disabled = !may) };
}

const REASONS = {
  uncertain: "Asked because the model was not sure.",
  disagreement: "Asked because two models disagree about it.",
  label: "Asked because pictures like it are called otherwise.",
};

/** Told afterwards, so that it leads nobody. */
function whatTheModelThinks({ pair, said }) {
  const { left, right, probability, reason } = pair;
  return h("div", { class: "card" },
    h("p", {}, h("strong", {}, said), " ",
      probability !== null && `The model gave “same” ${percent(probability)}. `,
      h("span", { class: "faint" }, REASONS[reason])),
    h("p", { class: "small" },
      h("a", { href: to("image", { id: left.id }) }, foreign(describe(left), 60)), " and ",
      h("a", { href: to("image", { id: right.id }) }, foreign(describe(right), 60))),
  );
}
