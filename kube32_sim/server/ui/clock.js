// The cluster's clock: what time it is there, and moving it on where it is virtual.

import { $, say } from "./dom.js";

const PATH = "apis/sim.kube32.io/v1alpha1/clocks/cluster";
const LOOKED_AT = 1000; // a virtual clock is moved by others, too

export class Clock {
  constructor(api, complain) {
    this.api = api;
    this.complain = complain;
    this.mode = "";
    this.told = 0; // milliseconds since 1970, when last asked
    this.at = 0; // and when that was, by the page's own time
    this.asked = 0;
    for (const button of document.querySelectorAll("[data-advance]")) {
      button.addEventListener("click", () => this.advance(button.dataset.advance));
    }
    $("advance-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.advance($("advance-by").value.trim());
    });
  }

  /** Milliseconds since 1970 in the cluster; 0 while that is not known. */
  now() {
    if (!this.told) return 0;
    return this.mode === "Virtual" ? this.told : this.told + (performance.now() - this.at);
  }

  async look() {
    if (this.asking) return;
    this.asking = true;
    try {
      this.take((await this.api.ask("GET", PATH)).status);
    } catch {
      // the watches say what is wrong
    } finally {
      this.asking = false;
      this.asked = performance.now();
    }
  }

  /** Something has happened: a virtual clock may have moved. */
  stir() {
    if (this.mode === "Virtual" && performance.now() - this.asked > 100) this.look();
  }

  tick() {
    if (this.mode === "Virtual" && performance.now() - this.asked > LOOKED_AT) this.look();
    this.draw();
  }

  take(status) {
    this.mode = status.mode;
    this.told = Date.parse(status.now);
    this.at = performance.now();
    this.draw();
  }

  draw() {
    if (!this.told) return;
    const time = new Date(this.now()).toISOString();
    say($("now"), `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`);
    $("now").dateTime = time;
    say($("mode"), this.mode === "Virtual" ? "virtual clock" : "real clock");
    $("advance").hidden = this.mode !== "Virtual";
  }

  async advance(duration) {
    say($("advanced"), `moving on ${duration} …`);
    try {
      const body = { apiVersion: "sim.kube32.io/v1alpha1", kind: "ClockAdvance", spec: { duration } };
      this.take((await this.api.send("POST", `${PATH}/advance`, body)).status);
      say($("advanced"), `moved on ${duration}`);
    } catch (error) {
      say($("advanced"), "");
      this.complain(error.message);
    }
  }
}
