// List, then watch from there; anew where the history is gone, and again and again where the server is.

import { Refused } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SILENCE = 150_000; // a bookmark comes every minute, so the connection is dead by then
const SHORTEST = 1000; // a watch that ends sooner is not followed by the next at once
const PAGE = 500;

/**
 * handlers: list(items), event(type, object), and state(state, detail): "connecting", "live", "lost" (detail: the time
 * of the next try), "refused" (detail: the Refused).
 */
export class Watch {
  constructor(api, path, handlers) {
    this.api = api;
    this.path = path;
    this.handlers = handlers;
    this.version = "";
    this.stopping = null;
    this.failures = 0;
  }

  start() {
    this.stop();
    this.stopping = new AbortController();
    this.run(this.stopping.signal);
  }

  /** What is known stays; `start` goes on from there. */
  stop() {
    this.stopping?.abort();
    this.stopping = null;
  }

  async run(signal) {
    while (!signal.aborted) {
      try {
        if (!this.version) await this.list(signal);
        const begun = performance.now();
        await this.follow(signal);
        if (!signal.aborted && performance.now() - begun < SHORTEST) await this.pause(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.version = ""; // what answers next may be another server, whose revisions mean something else
        if (error instanceof Refused && error.code === 410) continue;
        if (error instanceof Refused && [401, 403, 404].includes(error.code)) {
          this.handlers.state("refused", error);
          return;
        }
        await this.pause(signal);
      }
    }
  }

  /** The present state once, without following it. */
  async look(signal) {
    try {
      await this.list(signal);
      if (!signal.aborted) this.handlers.state("live");
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) this.handlers.state("refused", error);
      else this.handlers.state("lost", Date.now());
    }
  }

  async list(signal) {
    if (!this.version) this.handlers.state("connecting");
    const items = [];
    let version = "";
    let rest = "";
    do {
      const query = { limit: PAGE, ...(rest && { continue: rest }) };
      const answer = await this.api.ask("GET", this.path, { query, signal });
      items.push(...answer.items);
      version = answer.metadata.resourceVersion;
      rest = answer.metadata.continue;
    } while (rest);
    if (signal.aborted) return;
    this.handlers.list(items);
    this.version = version;
  }

  async follow(signal) {
    const ended = new AbortController();
    const query = { watch: "true", allowWatchBookmarks: "true", resourceVersion: this.version };
    let silence = setTimeout(() => ended.abort(), SILENCE);
    try {
      const both = AbortSignal.any([signal, ended.signal]);
      const response = await this.api.open("GET", this.path, { query, signal: both });
      this.failures = 0;
      this.handlers.state("live");
      for await (const line of lines(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(() => ended.abort(), SILENCE);
        if (signal.aborted) return;
        this.take(JSON.parse(line));
      }
    } finally {
      clearTimeout(silence);
      ended.abort();
    }
  }

  take({ type, object }) {
    if (type === "ERROR") throw new Refused(object.code, object.message, object.reason);
    if (type !== "BOOKMARK") this.handlers.event(type, object);
    this.version = object.metadata.resourceVersion;
  }

  /** Longer each time, and never all pages at once. */
  async pause(signal) {
    const most = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures);
    this.failures += 1;
    const milliseconds = most * (0.75 + Math.random() / 4);
    this.handlers.state("lost", Date.now() + milliseconds);
    await new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", resolve, { once: true });
    });
  }
}

/** The lines of a stream of bytes; a piece may hold many, or a part of one. */
async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield part;
  }
}
