// Requests to the server that the page is of.

const TOKEN = "kube32-sim-token";
export const BASE = new URL("..", document.baseURI);

export class Refused extends Error {
  constructor(code, message, reason) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Where an answer did not come at all, fetch throws TypeError; where one came that is a failure, this throws Refused. */
export class Api {
  constructor() {
    this.token = sessionStorage.getItem(TOKEN) ?? "";
  }

  setToken(token) {
    this.token = token;
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
  }

  async open(method, path, { query = {}, body, type = "application/json", signal } = {}) {
    const url = new URL(path, BASE);
    url.search = new URLSearchParams({ ...query, pretty: "0" }); // browsers are sent JSON for people otherwise
    const headers = { Accept: "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["Content-Type"] = type;
    const response = await fetch(url, { method, headers, body, signal, cache: "no-store", credentials: "omit" });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  async ask(method, path, options) {
    return (await this.open(method, path, options)).json();
  }

  send(method, path, object, type) {
    return this.ask(method, path, { body: JSON.stringify(object), type });
  }
}

async function refusal(response) {
  let status = {};
  try {
    status = await response.json();
  } catch {
    // something between us and the server has answered
  }
  return new Refused(response.status, status.message || `the server answered ${response.status}`, status.reason ?? "");
}
