// What the page keeps of the objects that it hears of.  Pure: objects of the API in, small records out.

import { SHOWN, amounts, requestOf } from "./figures.js";

export const FAULT = "sim.kube32.io/fault";

export function nodeRecord(node) {
  const { metadata, spec = {}, status = {} } = node;
  const conditions = (status.conditions ?? []).map(({ type, status: value, reason = "", message = "" }) => ({
    type, value, reason, message,
  }));
  const labels = metadata.labels ?? {};
  return {
    name: metadata.name,
    revision: Number(metadata.resourceVersion),
    board: labels["esp32.io/board"] ?? labels["node.kubernetes.io/instance-type"] ?? "",
    chip: "esp32.io/board" in labels,
    words: Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(" "),
    ready: conditions.find((one) => one.type === "Ready")?.value ?? "Unknown",
    conditions,
    taints: (spec.taints ?? []).map(({ key, value = "", effect }) => `${key}${value && "="}${value}:${effect}`),
    cordoned: Boolean(spec.unschedulable),
    fault: metadata.annotations?.[FAULT] ?? "",
    capacity: amounts(status.capacity, status.allocatable),
    reported: amounts(status.allocatable, status.capacity),
  };
}

export function podRecord(pod) {
  const { metadata, spec = {}, status = {} } = pod;
  const phase = status.phase ?? "Pending";
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const containers = spec.containers?.length ?? 0;
  const ready = (status.containerStatuses ?? []).filter((one) => one.ready).length;
  const finished = phase === "Succeeded" || phase === "Failed";
  const scheduled = (status.conditions ?? []).find((one) => one.type === "PodScheduled");
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    name: metadata.name,
    namespace: metadata.namespace,
    revision: Number(metadata.resourceVersion),
    created: metadata.creationTimestamp,
    node: spec.nodeName ?? "",
    shown: statusText(metadata, status, phase),
    tone: tone(metadata, status, phase, ready === containers),
    ready: `${ready}/${containers}`,
    finished,
    unsettled: phase === "Pending" || statuses.some((one) => one.state?.waiting),
    waits: !spec.nodeName && !finished,
    message: waitingText(spec, scheduled, status),
    request: requestOf(spec),
  };
}

/** What kubectl prints as STATUS. */
function statusText(metadata, status, phase) {
  if (metadata.deletionTimestamp) return "Terminating";
  if (status.reason) return status.reason;
  for (const { state = {} } of status.containerStatuses ?? []) {
    if (state.waiting?.reason) return state.waiting.reason;
    if (state.terminated) return state.terminated.reason ?? `Exit ${state.terminated.exitCode}`;
  }
  return phase;
}

function tone(metadata, status, phase, allReady) {
  if (metadata.deletionTimestamp) return "ending";
  if (phase === "Failed" || (status.containerStatuses ?? []).some((one) => /BackOff|Error/.test(one.state?.waiting?.reason))) {
    return "bad";
  }
  if (phase === "Succeeded") return "done";
  return phase === "Running" && allReady ? "good" : "waiting";
}

function waitingText(spec, scheduled, status) {
  if (spec.schedulingGates?.length) return `gated by ${spec.schedulingGates.map((gate) => gate.name).join(", ")}`;
  const scheduler = spec.schedulerName ?? "default-scheduler";
  if (scheduled?.message) return scheduled.message;
  if (status.message) return status.message;
  return scheduler === "default-scheduler" ? "not looked at yet" : `left to the scheduler ${scheduler}`;
}

export function eventRecord(event) {
  const about = event.involvedObject ?? {};
  return {
    uid: event.metadata.uid,
    time: event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp,
    warning: event.type === "Warning",
    reason: event.reason ?? "",
    about: `${(about.kind ?? "").toLowerCase()}/${about.name ?? ""}`,
    message: event.message ?? "",
    count: event.series?.count ?? event.count ?? 1,
    revision: Number(event.metadata.resourceVersion),
  };
}

/** What is free on a node, as the scheduler counts: what it reports, less the pods that the report cannot include. */
export function freeOf(node, pods) {
  const free = [...node.reported];
  for (const pod of pods) {
    if (pod.finished || !(pod.unsettled || pod.revision > node.revision)) continue;
    for (let place = 0; place < SHOWN.length; place++) {
      if (free[place] !== null) free[place] -= pod.request[place];
    }
  }
  return free;
}
