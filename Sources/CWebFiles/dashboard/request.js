// One request: its outcome, the reason, what helps, and on a development server what was sent and answered.
import { databasePath, explained, modifyAgain, parse, pretty, requestDetails } from "./api.js";
import { facts, h, link, sample, table, time } from "./dom.js";
import { isFailed, isNotification } from "./live.js";
import { signInName } from "./names.js";
import { quoted, signed } from "./samples.js";

export const title = () => "Request";

function command(request) {
  if (!request.container || request.endpoint.startsWith("/") || isNotification(request)) return null;
  const body = request.requestBody !== undefined && isWhole(request, "request") ? request.requestBody : "{…}";
  return sample("The request as curl", "curl " + signed(location.origin + databasePath(request, request.endpoint), request.account)
    + (request.method === "POST" ? " --data-raw " + quoted(body) : ""));
}

const isWhole = (request, which) => new Blob([request[which + "Body"]]).size >= request[which + "BodySize"];

/** The errors of single items. */
function itemErrors({ failedItems, failures = [] }) {
  if (!failedItems) return "";
  const more = failedItems - failures.length;
  return [failures.length ? table("Failed items", [
    { title: "item", cell: (one) => one.name ?? "—" },
    { title: "error", class: "short", cell: (one) => h("span", { class: "bad" }, one.serverErrorCode) },
    { title: "reason", cell: (one) => one.reason },
    { title: "what helps", cell: (one) => one.remedy },
  ], failures) : "", more > 0 ? h("p", {}, more + " failed items are not kept. The answer that the client got names each.") : ""];
}

/** Notifications of the container within ten seconds after the request. */
const notified = ({ notifications = [], ...request }) => notifications.length && !isNotification(request) ? [h("h2", {}, "Notifications after it"),
  table("Notifications within ten seconds, in this container", [
    { title: "time", class: "short", cell: (one) => time(one.time) },
    { title: "account", cell: (one) => signInName(one.account) ?? "—" },
    { title: "database", cell: (one) => one.database },
    { title: "what", cell: (one) => one.summary },
  ], notifications)] : "";

/** A body as it was sent: indented if it is whole, and JSON. */
function body(request, which, heading) {
  const text = request[which + "Body"];
  if (!text) return "";
  let shown = text;
  try { shown = pretty(parse(text)); } catch { /* cut off, or not JSON */ }
  const size = request[which + "BodySize"];
  return [sample(heading, shown),
    isWhole(request, which) ? "" : h("p", { class: "quiet" }, "The beginning: the whole has " + size + " bytes.")];
}

/** Sends a request once more, as another request: without its request key. */
function repeat(request, go) {
  if (request.method !== "POST" || !request.requestBody || !isWhole(request, "request")) return "";
  const said = h("p", { role: "status" });
  const send = async () => {
    said.textContent = "";
    try {
      const id = await modifyAgain(request);
      await go("/dashboard?view=request&id=" + id);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const who = request.account ? " as " + request.account : "";
  return [h("p", {}, h("button", { type: "button", id: "repeat", onclick: send }, "Send it again" + who)),
    h("p", { class: "quiet" }, "Without its request key, so that a save is carried out again."), said];
}

/** How a query is answered: which indexes are read, and what is checked on records. */
function explanation(request) {
  if (request.endpoint !== "records/query" || !request.requestBody || !isWhole(request, "request")) return "";
  const region = h("div", { role: "status" });
  const draw = async () => {
    try {
      const found = await explained(request);
      region.replaceChildren(
        table("Index entries that were read", [{ title: "field", cell: (one) => one.field || "the records themselves" },
          { title: "index", cell: (one) => one.index }, { title: "range", cell: (one) => one.range },
          { title: "entries read", class: "number", cell: (one) => String(one.entriesRead) }], found.scans ?? []),
        facts([["checked on records", (found.checkedOnRecords ?? []).join("; ")], ["records read", String(found.recordsRead)],
          ["records returned", String(found.recordsReturned)],
          ["an index that would help", found.helpfulIndex && h("code", {}, found.helpfulIndex)]]));
    } catch (error) {
      region.textContent = error.message;
    }
  };
  return [h("p", {}, h("button", { type: "button", id: "explain", onclick: draw }, "Explain the query")), region];
}

export async function content({ id = "" }, signal, go) {
  const request = await requestDetails(id, signal);
  if (!request) {
    return [h("p", {}, "The request ", h("code", {}, id), " is not among the last 1,000 that the server keeps while a "
      + "dashboard is open. The server's log has it under this uuid."), h("p", {}, link({ view: "requests" }, "All requests"))];
  }
  const { container, environment, database, account } = request;
  const answered = isNotification(request) ? [] : [["status", String(request.status)], ["took", request.milliseconds + " ms"],
    ["answer", request.answerSize === undefined ? null : request.answerSize + " bytes"]];
  const hasRecords = container && (database === "public" || (database === "private" && account));
  return [
    isFailed(request) ? [h("h2", {}, "Why it failed"),
      request.errorCode ? h("p", { class: "bad" }, request.errorCode + ": " + (request.reason ?? "")) : "",
      itemErrors(request), request.remedy ? h("p", {}, request.remedy) : ""] : "",
    h("h2", {}, isNotification(request) ? "The notification" : "The request"),
    facts([["time", time(request.time)], ["endpoint", (request.method + " " + request.endpoint).trim()], ["what", request.summary],
      ["account", account && signInName(account)], ["container", container], ["environment", environment], ["database", database],
      ...answered, ["uuid", h("code", {}, request.requestID)]]),
    h("ul", { class: "inline" },
      hasRecords ? h("li", {}, link({ view: "records", container, environment, database,
        account: database === "private" ? account : null }, "Records of this database")) : "",
      container && account ? h("li", {}, link({ view: "people", container, environment, who: account },
        "Why does " + signInName(account) + " not see a record?")) : "",
      h("li", {}, link({ view: "requests" }, "All requests"))),
    notified(request), repeat(request, go), explanation(request), body(request, "request", "What was sent"), body(request, "answer", "What was answered"), command(request),
  ];
}
