// "Where would it go?": a manifest, and what every node says of each of its pods.

import { aboutText, previewBody } from "./manifests.js";
import { $, h, say } from "./dom.js";

const PATH = "apis/sim.kube32.io/v1alpha1/schedulingpreviews";
const MOST_NODES = 50;

export class Preview {
  constructor(api) {
    this.api = api;
    $("preview-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    $("manifest").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.ask();
    });
  }

  async ask() {
    const text = $("manifest").value;
    if (!text.trim()) {
      this.answer("Paste a manifest first.");
      return;
    }
    const { body, type, offset } = previewBody(text, $("profile").value);
    this.answer("Asking …");
    try {
      const { status } = await this.api.ask("POST", PATH, { body, type });
      const placements = status?.placements ?? [];
      const placed = placements.filter((one) => one.node).length;
      const warnings = (status?.warnings ?? []).map((warning) => h("p", { class: "hint" }, String(warning)));
      const told = `${placed} of ${placements.length} ${placements.length === 1 ? "pod" : "pods"} would find a node.`;
      this.answer(`${told} Nothing was created.`, [...warnings, ...placements.map(placement)]);
    } catch (error) {
      this.answer(error.code === 404 ? "This server has no previews." : aboutText(error.message, offset));
    }
  }

  answer(text, children = []) {
    say($("preview-told"), text);
    $("placements").replaceChildren(...children);
  }
}

function placement({ pod, namespace, owner, node, score, message, note, victims, nodes, nodesOmitted }) {
  nodes ??= [];
  const title = node ? `${pod} → ${node}` : `${pod}: no node`;
  const evicts = victims?.length ? `evicts ${victims.map((one) => one.pod).join(", ")}` : "";
  if (node && message?.startsWith("Successfully assigned")) message = ""; // the title says so
  const about = [namespace, owner, node && `score ${score}`, evicts, message, note].filter(Boolean).join(", ");
  const body = h("tbody", {});
  const ordered = [...nodes].sort((one, other) => Number(other.feasible) - Number(one.feasible));
  const show = (some) => body.append(...some.map(verdict));
  show(ordered.slice(0, MOST_NODES));
  const table = h("table", {}, h("caption", { class: "hidden" }, `What each node says of ${pod}`),
    h("thead", {}, h("tr", {}, ...["Node", "Score", "Verdict"].map((text) => h("th", { scope: "col" }, text)))), body);
  const details = h("details", { class: "placement", "data-placed": String(Boolean(node)), open: !node && nodes.length <= MOST_NODES },
    h("summary", {}, h("strong", {}, title), h("span", { class: "about" }, about)), table);
  if (ordered.length > MOST_NODES) {
    const more = h("button", { type: "button", class: "quiet", onclick: () => {
      show(ordered.slice(MOST_NODES));
      more.remove();
    } }, `Show ${ordered.length - MOST_NODES} more`);
    details.append(more);
  }
  if (nodesOmitted) details.append(h("p", { class: "hint" }, `and ${nodesOmitted} more nodes`));
  return details;
}

function verdict({ name, feasible, reason, score, detail }) {
  const text = feasible ? detail || "fits" : [reason, detail].filter(Boolean).join(": ");
  return h("tr", { "data-feasible": String(Boolean(feasible)) },
    h("th", { scope: "row" }, name), h("td", {}, feasible ? String(score) : "–"), h("td", {}, text));
}
