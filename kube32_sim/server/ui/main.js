// The page: three watches feed the state, and what they change is drawn with the next frame.

import { Api } from "./api.js";
import { Boards } from "./boards.js";
import { Clock } from "./clock.js";
import { $, h, say, set } from "./dom.js";
import { Panels } from "./panels.js";
import { Preview } from "./preview.js";
import { State } from "./state.js";
import { setUpTheme } from "./theme.js";
import { InTurns } from "./turns.js";
import { Watch } from "./watch.js";

const HIDDEN_FOR = 2000; // a browser has few connections to one server: a page that nobody sees holds none
const PROBLEM_SHOWN = 12_000;

setUpTheme();
const api = new Api();
const clock = new Clock(api, complain);
const dirty = { all: false, waiting: false, events: false, nodes: new Set() };
const state = new State(changed);
const boards = new Boards(state, api, complain);
const panels = new Panels(state, clock);
new Preview(api);

// drawing

let frame = 0;

function changed(what, name) {
  if (what === "node") dirty.nodes.add(name);
  else dirty[what] = true;
  frame ||= requestAnimationFrame(draw);
  clock.stir();
}

function draw() {
  frame = 0;
  if (dirty.all || ($("only").value !== "all" && dirty.nodes.size)) boards.draw();
  else for (const name of dirty.nodes) boards.update(name);
  if (dirty.all || dirty.waiting) panels.drawWaiting();
  if (dirty.all || dirty.events) panels.drawEvents();
  if (dirty.all || dirty.waiting || dirty.nodes.size) panels.drawTotals();
  dirty.all = dirty.waiting = dirty.events = false;
  dirty.nodes.clear();
}

function complain(text) {
  const problem = h("p", {}, text);
  $("problems").append(problem);
  setTimeout(() => problem.remove(), PROBLEM_SHOWN);
}

// following

const followed = { nodes: "connecting", pods: "connecting", events: "connecting" };
const details = {};
const watches = [
  watch("nodes", (items) => state.listNodes(items), (type, object) => state.nodeEvent(type, object)),
  watch("pods", (items) => state.listPods(items), (type, object) => state.podEvent(type, object)),
  new InTurns(watch("events", (items) => state.listEvents(items), (type, object) => state.eventEvent(type, object))),
];

function watch(plural, list, event) {
  return new Watch(api, `api/v1/${plural}`, {
    list,
    event,
    state(now, detail) {
      const before = followed[plural];
      followed[plural] = now;
      details[plural] = detail;
      if (now === "live" && before !== "live" && plural === "nodes") clock.look();
      drawConnection();
    },
  });
}

function drawConnection() {
  const all = Object.keys(followed);
  const refused = all.filter((one) => followed[one] === "refused");
  const lost = all.filter((one) => followed[one] === "lost");
  let [now, text] = ["connecting", "Connecting …"];
  if (paused) [now, text] = ["paused", "Paused"];
  else if (lost.length) [now, text] = ["lost", `Disconnected, trying again${patience(lost)}`];
  else if (refused.length) [now, text] = ["refused", `Not allowed: ${refused.join(", ")}`];
  else if (all.every((one) => followed[one] === "live")) [now, text] = ["live", "Live"];
  set(document.body, "data-connection", now);
  say($("connection"), text);
  const told = [...new Set(refused.map((one) => details[one].message))].join("\n");
  $("access").hidden = !refused.length && !api.token;
  say($("access-told"), refused.length ? told : "A token is in use, for as long as this tab is open.");
  $("token-form").hidden = !refused.length;
  $("forget").hidden = !api.token;
}

/** Said once a try, so that nobody is read a count-down. */
function patience(lost) {
  const seconds = Math.round((Math.max(...lost.map((one) => details[one])) - Date.now()) / 1000);
  return seconds > 1 ? ` in ${seconds} s` : "";
}

function begin() {
  for (const one of watches) one.start();
}

let paused = false;
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(() => {
      paused = true;
      for (const one of watches) one.stop();
      drawConnection();
    }, HIDDEN_FOR);
  } else if (paused) {
    paused = false;
    begin();
  }
});
addEventListener("online", begin);
addEventListener("pagehide", () => watches.forEach((one) => one.stop())); // else a page that is kept keeps connections
addEventListener("pageshow", (event) => event.persisted && begin());

// who calls

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  api.setToken($("token").value.trim());
  $("token").value = "";
  again();
});
$("forget").addEventListener("click", () => {
  api.setToken("");
  state.forget();
  again();
});

/** As somebody else: what was seen before says nothing. */
function again() {
  for (const one of watches) one.version = "";
  begin();
}

setInterval(() => {
  if (document.hidden) return;
  clock.tick();
  panels.tick();
}, 1000);
begin();
