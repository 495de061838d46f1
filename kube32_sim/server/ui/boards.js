// One card a board.  A card is made once, and of a change only what is another one is written.

import { SHOWN, amountText } from "./figures.js";
import { FAULT } from "./objects.js";
import { $, h, say, set, sync } from "./dom.js";

const MOST_PODS = 6;
const READY = { True: "Ready", False: "Not ready", Unknown: "Lost" };
const FAULTS = { stopped: "switched off", partitioned: "cut off" };
const ACTIONS = [
  { fault: "stopped", text: "Switch off", title: "the board stops, and its pods with it" },
  { fault: "partitioned", text: "Cut off", title: "the board runs on, but reaches nobody" },
  { fault: null, text: "Heal", title: "the board is well again" },
];

export class Boards {
  constructor(state, api, complain) {
    this.state = state;
    this.api = api;
    this.complain = complain;
    this.list = $("boards");
    this.cards = new Map();
    this.active = "";
    this.list.addEventListener("keydown", (event) => this.walk(event));
    this.list.addEventListener("focusin", (event) => this.activate(event.target.closest(".board")));
    for (const id of ["filter", "only"]) $(id).addEventListener("input", () => this.draw());
  }

  /** All of them: which there are, and in which order. */
  draw() {
    const names = this.visible();
    sync(this.list, names, (name) => this.make(name), (card, name) => this.update(name));
    for (const name of this.cards.keys()) if (!this.list.made.has(name)) this.cards.delete(name);
    if (!this.cards.has(this.active)) this.activate(this.cards.get(names[0])?.element);
    const all = this.state.nodes.size;
    const known = this.state.known.has("nodes");
    const told = names.length === all ? `${all} board${all === 1 ? "" : "s"}` : `${names.length} of ${all} boards`;
    say($("shown"), known ? told : "");
    $("no-boards").hidden = names.length > 0 || !known;
    say($("no-boards"), all ? "No board matches." : "There are no boards.");
  }

  visible() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = $("only").value;
    const found = [...this.state.nodes.values()].filter((node) => this.matches(node, words, only));
    return found.map((node) => node.name).sort(inOrder);
  }

  matches(node, words, only) {
    const pods = this.state.podsOf(node.name);
    if (only === "trouble" && node.ready === "True" && !node.fault && !node.taints.length && !node.cordoned) return false;
    if (only === "pods" && pods.size === 0) return false;
    if (!words.length) return true;
    const text = `${node.name} ${node.words} ${[...pods.keys()].join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  // one card

  make(name) {
    const title = h("h3", { id: `board-${name}` }, name);
    const card = {
      name,
      state: h("span", { class: "badge" }),
      kind: h("span", { class: "kind" }),
      bars: h("div", { class: "bars" }),
      notes: h("ul", { class: "notes" }),
      pods: h("ul", { class: "pods", "aria-label": `Pods on ${name}` }),
      more: h("button", { type: "button", class: "quiet", onclick: () => this.unfold(card) }),
      all: false,
    };
    card.buttons = ACTIONS.map(({ fault, text, title: told }) =>
      h("button", { type: "button", title: told, "aria-label": `${text} ${name}`, onclick: () => this.give(name, fault) }, text));
    card.element = h("li", { class: "board", tabindex: "-1", "aria-labelledby": title.id },
      h("div", { class: "head" }, title, card.state),
      card.bars, card.notes, card.pods, card.more, h("div", { class: "actions" }, ...card.buttons, card.kind));
    card.element.card = card;
    this.cards.set(name, card);
    this.reach(card);
    return card.element;
  }

  update(name) {
    const card = this.cards.get(name);
    const node = this.state.nodes.get(name);
    if (!card || !node) return;
    const pods = this.state.podsOf(name);
    const state = node.fault ? FAULTS[node.fault] ?? node.fault : "";
    say(card.state, [READY[node.ready] ?? node.ready, state, node.cordoned && "cordoned"].filter(Boolean).join(", "));
    set(card.element, "data-state", node.ready === "True" ? (state || node.cordoned ? "odd" : "good") : "bad");
    say(card.kind, node.board);
    this.drawBars(card, node);
    this.drawNotes(card, node);
    this.drawPods(card, [...pods.values()]);
    card.buttons.forEach((button, place) => {
      button.disabled = (ACTIONS[place].fault ?? "") === node.fault;
    });
  }

  drawBars(card, node) {
    const places = SHOWN.map((_, place) => place).filter((place) => node.capacity[place]);
    sync(card.bars, places, (place) => bar(node, place), (element, place) => {
      const { bytes } = SHOWN[place];
      const [capacity, free] = [node.capacity[place], node.free[place] ?? 0];
      const used = Math.min(100, Math.max(0, Math.round((100 * (capacity - free)) / capacity)));
      const text = `${amountText(free, bytes)} free of ${amountText(capacity, bytes)}`;
      const [, figure, meter] = element.children;
      say(figure, text);
      set(meter, "aria-valuenow", String(used));
      set(meter, "aria-valuetext", `${used} % used, ${text}`);
      set(element, "data-full", used >= 90 ? "true" : "false");
      meter.firstElementChild.style.width = `${used}%`;
    });
  }

  drawNotes(card, node) {
    const notes = [];
    for (const { type, value, reason, message } of node.conditions) {
      if (value === "Unknown" && type !== "Ready" && node.ready === "Unknown") continue; // nothing of it is known
      if (value !== (type === "Ready" ? "True" : "False")) notes.push([`${type}=${value}`, `${reason}: ${message}`]);
    }
    for (const taint of node.taints) notes.push([taint, "taint"]);
    sync(card.notes, notes.map(([text]) => text), (text) => h("li", {}, text));
    for (const [text, title] of notes) set(card.notes.made.get(text), "title", title);
  }

  drawPods(card, pods) {
    pods.sort((one, other) => inOrder(one.key, other.key));
    const shown = card.all ? pods : pods.slice(0, MOST_PODS);
    sync(card.pods, shown.map((pod) => pod.key), () => podItem(), (item, key) => drawPod(item, this.state.pods.get(key)));
    const hidden = pods.length - shown.length;
    card.more.hidden = !card.all && hidden <= 0;
    say(card.more, card.all ? "Show fewer" : `Show ${hidden} more`);
  }

  unfold(card) {
    card.all = !card.all;
    this.update(card.name);
  }

  // what can be done

  async give(name, fault) {
    const patch = { metadata: { annotations: { [FAULT]: fault } } };
    try {
      await this.api.send("PATCH", `api/v1/nodes/${encodeURIComponent(name)}`, patch, "application/merge-patch+json");
    } catch (error) {
      this.complain(`${name}: ${error.message}`);
    }
  }

  // by keyboard: one stop for all boards, arrows from one to the next, Tab into the buttons of the one

  activate(element) {
    if (!element || element.card.name === this.active) return;
    const before = this.cards.get(this.active);
    this.active = element.card.name;
    if (before) this.reach(before);
    this.reach(element.card);
  }

  reach(card) {
    const index = card.name === this.active ? "0" : "-1";
    for (const one of [card.element, card.more, ...card.buttons]) set(one, "tabindex", index);
  }

  walk(event) {
    const card = event.target.closest(".board");
    if (!card || event.ctrlKey || event.altKey || event.metaKey) return;
    const columns = getComputedStyle(this.list).gridTemplateColumns.split(" ").length;
    const all = [...this.list.children];
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -all.length, End: all.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const place = Math.min(all.length - 1, Math.max(0, all.indexOf(card) + steps[event.key]));
    all[place].focus();
  }
}

function bar({ name, chip }, place) {
  const title = chip ? SHOWN[place].title : SHOWN[place].ordinary;
  const meter = h("div", { role: "meter", class: "meter", "aria-label": `${title} of ${name}`,
    "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "0" }, h("div", { class: "used" }));
  return h("div", { class: "bar" }, h("span", { class: "what" }, title), h("span", { class: "figure" }), meter);
}

export function podItem() {
  return h("li", {}, h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "pod" }),
    h("span", { class: "phase" }), h("span", { class: "ready" }));
}

function drawPod(item, pod) {
  const [dot, name, phase, ready] = item.children;
  set(dot, "data-tone", pod.tone);
  say(name, pod.namespace === "default" ? pod.name : pod.key);
  set(name, "title", pod.key);
  say(phase, pod.shown);
  say(ready, pod.ready);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });
const inOrder = (one, other) => COLLATOR.compare(one, other);
