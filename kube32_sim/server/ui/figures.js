// Amounts as Kubernetes writes them, and what a pod asks for as the simulator's scheduler counts it.
// Pure: no page, no network.

const TENS = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const TWOS = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const LARGEST_POWER = 60; // beyond it a quantity is none that there can be
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;

/** What is drawn of a board, in this order: resource, title (and that on an ordinary node), whether it is in bytes. */
export const SHOWN = [
  { name: "memory", title: "Heap", ordinary: "Memory", bytes: true },
  { name: "esp32.io/psram", title: "PSRAM", ordinary: "PSRAM", bytes: true },
  { name: "esp32.io/gpio", title: "Pins", ordinary: "Pins", bytes: false },
];
const ALIASES = { "esp.io/psram": "esp32.io/psram" };
const DEFAULT_MEMORY = 16 * 1024; // of a pod that does not say

/** A quantity in whole units, rounded away from zero; what is no quantity counts 0. */
export function amount(text) {
  const found = QUANTITY.exec(String(text));
  if (!found) return 0;
  const [, number, exponent = "e0", suffix = ""] = found;
  const [whole, part = ""] = number.replace(/^[+-]/, "").split(".");
  const digits = BigInt(whole + part) << BigInt(TWOS[suffix] ?? 0);
  const power = Number(exponent.slice(1)) + (TENS[suffix] ?? 0) - part.length;
  const scale = 10n ** BigInt(Math.min(Math.abs(power), LARGEST_POWER));
  const value = Number(power < 0 ? (digits + scale - 1n) / scale : digits * scale);
  return number.startsWith("-") && value ? -value : value;
}

/** `240Ki`, `1.5Mi`: at most four characters of digits. */
export function bytesText(bytes) {
  const sign = bytes < 0 ? "-" : "";
  let value = Math.abs(bytes);
  for (const unit of ["", "Ki", "Mi", "Gi"]) {
    if (value < 1024 || unit === "Gi") return `${sign}${Number(value.toFixed(value < 10 ? 1 : 0))}${unit}`;
    value /= 1024;
  }
  return "";
}

export function amountText(value, bytes) {
  return bytes ? bytesText(value) : String(value);
}

/** The shown resources of a map of quantities; null where the map does not name one. */
export function amounts(map, fallback) {
  const named = { ...properly(fallback), ...properly(map) };
  return SHOWN.map(({ name }) => (name in named ? amount(named[name]) : null));
}

/** What a pod's spec asks for of the shown resources: the sum of its containers, or its largest init container. */
export function requestOf(spec) {
  const totals = {};
  for (const container of spec?.containers ?? []) {
    for (const [name, value] of Object.entries(declared(container))) totals[name] = (totals[name] ?? 0) + amount(value);
  }
  for (const container of spec?.initContainers ?? []) {
    for (const [name, value] of Object.entries(declared(container))) {
      totals[name] = Math.max(totals[name] ?? 0, amount(value));
    }
  }
  totals.memory ??= DEFAULT_MEMORY;
  return SHOWN.map(({ name }) => totals[name] ?? 0);
}

/** A container's requests, or its limits where it has no request. */
function declared(container) {
  return properly({ ...container.resources?.limits, ...container.resources?.requests });
}

/** Other names of a resource give way to its proper one. */
function properly(map) {
  const named = { ...map };
  for (const [alias, name] of Object.entries(ALIASES)) {
    if (alias in named) named[name] ??= named[alias];
  }
  return named;
}

/** `5s`, `3m`, `2h`, `4d`: how long ago, as kubectl's AGE. */
export function ageText(seconds) {
  const past = Math.max(0, Math.floor(seconds));
  if (past < 120) return `${past}s`;
  if (past < 3 * 3600) return `${Math.floor(past / 60)}m`;
  if (past < 2 * 86400) return `${Math.floor(past / 3600)}h`;
  return `${Math.floor(past / 86400)}d`;
}
