// The recent requests, live, with filters.
import { address, field, h, link, live, select, table, time } from "./dom.js";
import { failures, isFailed, isNotification, listen, recent } from "./live.js";
import { signInName } from "./names.js";

const shown = 100;

export const title = () => "Requests";

/** What a request did, or why it was refused. */
const outcome = (request) => request.errorCode ? request.errorCode + ": " + (request.reason ?? "") : request.summary ?? "";

export const requestColumns = () => [
  { title: "time", class: "short", cell: (request) => link({ view: "request", id: request.requestID }, time(request.time)) },
  { title: "status", class: "short", cell: (request) => h("span", { class: isFailed(request) ? "bad" : null },
    (isNotification(request) ? "sent" : request.status) + (failures(request) ? ", " + failures(request) + " failed" : "")) },
  { title: "account", cell: (request) => signInName(request.account) ?? "—" },
  { title: "container", cell: (request) => [request.container ?? "",
    request.environment === "production" ? h("span", { class: "quiet" }, " production") : ""] },
  { title: "database", cell: (request) => request.database ?? "" },
  { title: "endpoint", class: "short", cell: (request) => request.endpoint },
  { title: "what", cell: outcome },
  { title: "took", class: "number", cell: (request) => isNotification(request) ? "" : request.milliseconds + " ms" },
];

/** Whether a request is not an app's own: the dashboard's, and a browser's question before an app's. */
export const isAdministration = (request) => request.method === "OPTIONS" || /^\/(nephos|installation|dashboard)\b|^\/$/.test(request.endpoint);

function matches(request, { failed, administration, container, account, endpoint, text }) {
  if (failed && !isFailed(request)) return false;
  if (!administration && !endpoint && isAdministration(request)) return false;
  if (container && request.container !== container) return false;
  if (account && request.account !== account) return false;
  if (endpoint && request.endpoint !== endpoint) return false;
  const words = [request.requestID, request.endpoint, signInName(request.account), request.container, request.summary, request.errorCode,
    request.reason].join("\n").toLowerCase();
  return !text || words.includes(text.trim().toLowerCase());
}

/** The values of a member that the requests have. */
const values = (member) => [["", "any"], ...[...new Set(recent.requests.map((request) => request[member]).filter(Boolean))].sort()
  .map((value) => [value, member === "account" ? signInName(value) : value])];

function list(filter) {
  if (recent.problem) return [h("p", { class: "bad" }, recent.problem.message)];
  const found = recent.requests.filter((request) => matches(request, filter)).reverse();
  const missed = (recent.hasRestarted ? "The server has restarted: requests before that are not shown. " : "")
    + (recent.missed ? recent.missed + " requests came too fast to be shown. " : "");
  if (!found.length) {
    return [h("p", { class: "quiet" }, missed + (recent.requests.length ? "No request matches."
      : "No request yet. The server keeps requests while a dashboard is open, and for five minutes after."))];
  }
  const rest = found.length > shown ? "The newest " + shown + " of " + found.length + ". " : "";
  return [h("p", { class: "quiet" }, missed + rest + "The list waits while the pointer or the focus is in it."),
    table("Requests", requestColumns(), found.slice(0, shown))];
}

export function content(parameters, signal) {
  const filter = { ...parameters };
  const region = h("div", {});
  const draw = live(region, () => list(filter));
  const change = (event) => {
    const { name, type, checked, value } = event.target;
    filter[name] = type === "checkbox" ? (checked ? "1" : "") : value;
    history.replaceState(null, "", address(filter));
    draw(true);
  };
  listen(draw, signal);
  const check = (name, text) => h("label", { class: "check" },
    h("input", { type: "checkbox", id: name, name, checked: Boolean(filter[name]) }), text);
  const form = h("form", { class: "row", role: "search", oninput: change, onsubmit: (event) => event.preventDefault() },
    field("Text or uuid", h("input", { id: "text", name: "text", type: "search", value: filter.text ?? "" })),
    field("Container", select("container", values("container"), filter.container)),
    field("Account", select("account", values("account"), filter.account)),
    field("Endpoint", select("endpoint", values("endpoint"), filter.endpoint)),
    check("failed", "Failed only"), check("administration", "Administration too"));
  // What the lists offer follows the requests, except in a list with the focus.
  const offer = () => {
    for (const name of ["container", "account", "endpoint"]) {
      const control = form.elements[name];
      if (control === document.activeElement) continue;
      control.replaceChildren(...select(name, values(name), filter[name]).children);
      control.value = filter[name] ?? "";
    }
  };
  listen(offer, signal);
  return [form, region];
}
