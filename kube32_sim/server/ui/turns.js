// One window follows events by a watch, the others look now and then: a browser opens six connections to a server for all
// its windows, and each needs two for boards and pods.

const LOCK = "kube32-sim-events";
const PATIENCE = 300; // milliseconds, in which a lock that nobody holds is granted
const EVERY = 3000;

/** A `Watch` that is followed in one window at a time. */
export class InTurns {
  constructor(watch) {
    this.watch = watch;
    this.turn = null;
  }

  set version(version) {
    this.watch.version = version;
  }

  start() {
    this.stop();
    if (!navigator.locks) {
      this.watch.start(); // not over plain HTTP from another machine
      return;
    }
    const { signal } = (this.turn = new AbortController());
    let timer = setTimeout(() => {
      timer = setInterval(() => this.watch.look(signal), EVERY);
      this.watch.look(signal);
    }, PATIENCE);
    const rest = () => {
      clearTimeout(timer);
      clearInterval(timer);
    };
    signal.addEventListener("abort", rest);
    const granted = () => {
      rest();
      if (signal.aborted) return undefined;
      this.watch.start();
      return new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    navigator.locks.request(LOCK, { signal }, granted).catch(() => {}); // stopped before its turn came
  }

  stop() {
    this.turn?.abort();
    this.turn = null;
    this.watch.stop();
  }
}
