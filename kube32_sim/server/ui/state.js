// All that is known of the cluster, and who wants to hear of which change.

import { freeOf, nodeRecord, podRecord, eventRecord } from "./objects.js";

const MOST_EVENTS = 200;
const NONE = new Map();

/** changed(what, name) is called for every change that can be seen: what is "node", "waiting", "events" or "all". */
export class State {
  constructor(changed) {
    this.changed = changed;
    this.nodes = new Map();
    this.pods = new Map();
    this.events = new Map();
    this.onNode = new Map(); // node's name -> key -> pod
    this.waiting = new Map();
    this.known = new Set(); // of what there has been a list
  }

  /** As before anything was known. */
  forget() {
    for (const list of [this.listNodes, this.listPods, this.listEvents]) list.call(this, []);
    this.known.clear();
    this.changed("all");
  }

  podsOf(name) {
    return this.onNode.get(name) ?? NONE;
  }

  // nodes

  listNodes(items) {
    this.nodes = new Map(items.map((item) => [item.metadata.name, nodeRecord(item)]));
    for (const node of this.nodes.values()) this.weigh(node);
    this.known.add("nodes");
    this.changed("all");
  }

  nodeEvent(type, object) {
    const name = object.metadata.name;
    const old = this.nodes.get(name);
    if (type === "DELETED") {
      this.nodes.delete(name);
      this.changed("all");
      return;
    }
    const node = nodeRecord(object);
    this.nodes.set(name, node);
    this.weigh(node);
    if (!old) this.changed("all");
    else if (!alike(old, node)) this.changed("node", name);
  }

  weigh(node) {
    node.free = freeOf(node, this.podsOf(node.name).values());
  }

  // pods

  listPods(items) {
    this.pods = new Map();
    this.onNode = new Map();
    this.waiting = new Map();
    for (const item of items) this.place(podRecord(item));
    for (const node of this.nodes.values()) this.weigh(node);
    this.known.add("pods");
    this.changed("all");
  }

  podEvent(type, object) {
    const pod = podRecord(object);
    const old = this.pods.get(pod.key);
    if (old) this.remove(old);
    if (type !== "DELETED") this.place(pod);
    for (const name of new Set([old?.node, pod.node])) {
      const node = name && this.nodes.get(name);
      if (!node) continue;
      this.weigh(node);
      this.changed("node", name);
    }
    if (old?.waits || pod.waits) this.changed("waiting");
  }

  place(pod) {
    this.pods.set(pod.key, pod);
    if (pod.waits) this.waiting.set(pod.key, pod);
    if (!pod.node) return;
    if (!this.onNode.has(pod.node)) this.onNode.set(pod.node, new Map());
    this.onNode.get(pod.node).set(pod.key, pod);
  }

  remove(pod) {
    this.pods.delete(pod.key);
    this.waiting.delete(pod.key);
    this.onNode.get(pod.node)?.delete(pod.key);
  }

  // events: the newest are kept, in the order in which they came

  listEvents(items) {
    const records = items.map(eventRecord).sort((one, other) => one.revision - other.revision);
    this.events = new Map(records.slice(-MOST_EVENTS).map((record) => [record.uid, record]));
    this.known.add("events");
    this.changed("events");
  }

  eventEvent(type, object) {
    const record = eventRecord(object);
    if (type === "DELETED" && !this.events.has(record.uid)) return;
    this.events.delete(record.uid);
    if (type !== "DELETED") this.events.set(record.uid, record);
    if (this.events.size > MOST_EVENTS) this.events.delete(this.events.keys().next().value);
    this.changed("events");
  }
}

/** Whether two records of a node look the same: a heartbeat is another revision, and nothing to be drawn. */
function alike(one, other) {
  return JSON.stringify({ ...one, revision: 0 }) === JSON.stringify({ ...other, revision: 0 });
}
