// Calls functions of the page's modules: a line of JSON on stdin is a call, a line on stdout its answer.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = (module) => import(pathToFileURL(`${process.argv[2]}/${module}`).href);

/** What is free on every node after a series of [method, type, object]. */
async function replayed(heard) {
  const state = new (await load("state.js")).State(() => {});
  for (const [method, type, object] of heard) state[method](type, object);
  return Object.fromEntries([...state.nodes].map(([name, node]) => [name, node.free]));
}

for await (const line of createInterface({ input: process.stdin })) {
  const { module, call, given } = JSON.parse(line);
  const answer = module ? (await load(module))[call](...given) : await replayed(...given);
  console.log(JSON.stringify(answer ?? null));
}
