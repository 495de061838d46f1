// From what somebody pastes to the body of a preview request.  Pure.
//
// YAML is not read here: the server reads it as it reads every manifest.  The documents become the items of one list, by
// indenting them, and stay on their lines, so that what the server says of a line can be told of the pasted one.

const KIND = ["apiVersion: sim.kube32.io/v1alpha1", "kind: SchedulingPreview", "spec:"];
const MARK = /^---(?=\s|$)/;
const END = /^\.\.\.(?=\s|$)/;

/** {body, type, offset}; offset: how many lines the body has before the first one of the text. */
export function previewBody(text, profile) {
  const objects = asJson(text);
  if (objects) {
    const body = { apiVersion: "sim.kube32.io/v1alpha1", kind: "SchedulingPreview", spec: { profile, objects } };
    return { body: JSON.stringify(body), type: "application/json", offset: 0 };
  }
  const head = [...KIND, `  profile: ${profile}`, "  objects:"];
  const { lines, ahead } = items(text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/));
  return { body: [...head, ...lines].join("\n") + "\n", type: "application/yaml", offset: head.length + ahead };
}

function asJson(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return null;
  }
}

/** Every document as an item of a list; those with nothing in them as comments. */
function items(lines) {
  const documents = [{ mark: null, lines: [] }];
  let closed = false;
  for (const line of lines) {
    if (MARK.test(line)) {
      documents.push({ mark: line.slice(3), lines: [] });
      closed = false;
    } else if (END.test(line)) {
      documents.at(-1).lines.push("#");
      closed = true;
    } else if (closed && /^%|^\s*(#|$)/.test(line)) {
      documents.at(-1).lines.push("#");
    } else {
      documents.at(-1).lines.push(line);
    }
  }
  const found = [];
  for (const { mark, lines: rest } of documents) {
    const empty = [mark ?? "", ...rest].every((line) => /^\s*(#.*)?$/.test(line) || /^%/.test(line));
    if (mark !== null) found.push(empty ? "#" : `  -${mark || ""}`);
    else if (!empty) found.push("  -");
    found.push(...rest.map((line) => (empty ? "#" : `    ${line}`)));
  }
  return { lines: found, ahead: found.length - lines.length };
}

/** A message of the server about a line of the body, about the line of the text. */
export function aboutText(message, offset) {
  return message.replace(/\bline (\d+)/g, (told, line) => (line > offset ? `line ${line - offset}` : told));
}
