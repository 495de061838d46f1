// Making elements.  Whatever comes from outside is put into the page as text: nothing here, or anywhere, parses it.

/** h("p", { class: "a", onclick: f, "aria-label": "b" }, "text", child) */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export const $ = (id) => document.getElementById(id);

/** Set a text where it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function set(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Make the children of an element these, touching only what is another one; each has a key. */
export function sync(parent, keys, make, update) {
  const there = (parent.made ??= new Map());
  const wanted = new Set(keys);
  for (const [key, element] of there) {
    if (wanted.has(key)) continue;
    element.remove();
    there.delete(key);
  }
  let place = parent.firstElementChild;
  for (const key of keys) {
    let element = there.get(key);
    if (!element) there.set(key, (element = make(key)));
    update?.(element, key);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}
