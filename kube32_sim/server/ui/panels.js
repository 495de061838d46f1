// Beside the boards: pods that wait, events, and a line that says in a few words how things are.

import { ageText } from "./figures.js";
import { $, h, say, set, sync } from "./dom.js";

const MOST_SHOWN = 50;
const TOLD_EVERY = 3000; // so that who listens is not read every change

export class Panels {
  constructor(state, clock) {
    this.state = state;
    this.clock = clock;
    this.told = "";
    this.telling = 0;
  }

  drawWaiting() {
    const pods = [...this.state.waiting.values()].sort((one, other) => one.created.localeCompare(other.created));
    const shown = pods.slice(0, MOST_SHOWN);
    sync($("waiting"), shown.map((pod) => pod.key), makeWaiting, (item, key) => {
      const [name, message] = item.children;
      say(name, key);
      say(message, this.state.waiting.get(key).message);
    });
    const known = this.state.known.has("pods");
    say($("waiting-count"), known ? String(pods.length) : "");
    $("no-waiting").hidden = pods.length > 0 || !known;
    $("more-waiting").hidden = pods.length <= MOST_SHOWN;
    say($("more-waiting"), `and ${pods.length - MOST_SHOWN} more`);
  }

  drawEvents() {
    const events = [...this.state.events.values()].slice(-MOST_SHOWN).reverse();
    sync($("events"), events.map((event) => event.uid), makeEvent, (item, uid) => {
      const event = this.state.events.get(uid);
      const [head, message] = item.children;
      const [reason, about, age] = head.children;
      set(item, "data-warning", String(event.warning));
      say(reason, (event.warning ? "Warning: " : "") + event.reason);
      say(about, event.about);
      say(message, event.message + (event.count > 1 ? ` (${event.count} times)` : ""));
      set(age, "datetime", event.time ?? "");
      say(age, this.age(event.time));
    });
    $("no-events").hidden = events.length > 0 || !this.state.known.has("events");
  }

  /** Once a second: nothing else of a list is another one because time goes on. */
  tick() {
    for (const age of $("events").querySelectorAll("time")) say(age, this.age(age.dateTime));
  }

  age(time) {
    const now = this.clock.now();
    return time && now ? ageText((now - Date.parse(time)) / 1000) : "";
  }

  drawTotals() {
    const nodes = [...this.state.nodes.values()];
    const ready = nodes.filter((node) => node.ready === "True").length;
    const pods = [...this.state.pods.values()].filter((pod) => pod.tone !== "done");
    const running = pods.filter((pod) => pod.tone === "good").length;
    const [boards, failing] = [`${ready} of ${nodes.length}`, pods.filter((pod) => pod.tone === "bad").length];
    const [knowsNodes, knowsPods] = ["nodes", "pods"].map((what) => this.state.known.has(what));
    total("boards", knowsNodes, boards, ready < nodes.length);
    total("pods", knowsPods, `${running} of ${pods.length}`, false);
    total("waiting", knowsPods, String(this.state.waiting.size), this.state.waiting.size > 0);
    total("failing", knowsPods, String(failing), failing > 0);
    if (!knowsNodes || !knowsPods) return;
    this.tell(`${boards} boards ready, ${running} of ${pods.length} pods running, ${this.state.waiting.size} pending`);
  }

  /** To who listens: the last of what there is to say, now and then. */
  tell(text) {
    this.next = text;
    if (this.telling || text === this.told) return;
    this.telling = setTimeout(() => {
      this.telling = 0;
      this.told = this.next;
      say($("spoken"), this.told);
    }, TOLD_EVERY);
  }
}

function total(what, known, text, alarm) {
  const element = $(`total-${what}`);
  say(element, known ? text : "–");
  set(element.parentElement, "data-alarm", String(known && alarm));
}

function makeWaiting() {
  return h("li", {}, h("strong"), h("p"));
}

function makeEvent() {
  return h("li", {}, h("div", { class: "line" }, h("strong"), h("span", { class: "about" }), h("time")), h("p"));
}
