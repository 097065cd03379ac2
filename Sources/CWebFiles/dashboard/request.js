// One request: its outcome, the reason, and what helps.
import { sleep } from "./api.js";
import { facts, h, link, sample, time } from "./dom.js";
import { failures, isFailed, recent } from "./live.js";
import { remedy } from "./remedies.js";
import { quoted } from "./samples.js";

export const title = () => "Request";

const find = (id) => recent.requests.find((request) => request.requestID.toLowerCase() === id?.toLowerCase());

function command(request) {
  if (!request.container || request.endpoint.startsWith("/")) return null;
  const sign = request.account ? "&ckWebAuthToken=dev:" + encodeURIComponent(request.account) : "";
  const url = location.origin + "/database/1/" + [request.container, request.environment, request.database].join("/") + "/"
    + request.endpoint + "?ckAPIToken=any" + sign;
  return sample("The same endpoint as curl", "curl " + quoted(url) + (request.method === "POST" ? " -d '{…}'" : ""));
}

/** The first failed item of a request, whose error ends the summary. */
function firstFailure({ summary }) {
  const [, serverErrorCode, reason] = summary?.match(/ failed: ([A-Z_]+)(?:: (.*))? \([0-9A-Fa-f-]{36}\)$/) ?? [];
  return serverErrorCode ? { serverErrorCode, reason } : null;
}

/** The errors of single items. */
function itemErrors(request) {
  const count = failures(request);
  const first = firstFailure(request);
  if (!count) return "";
  if (!first) return h("p", {}, "Failed items: " + count + ". The answer that the client got names each with its error.");
  return [h("p", { class: "bad" }, first.serverErrorCode + ": " + (first.reason ?? "")),
    h("p", {}, remedy(first.serverErrorCode, first.reason)),
    count > 1 ? h("p", { class: "quiet" }, "So failed the first of " + count + " items. The answer that the client got names each.") : ""];
}

export async function content({ id }, signal) {
  // The list comes a moment after the page.
  for (let tries = 0; !find(id) && !recent.problem && tries < 20; tries++) await sleep(100, signal);
  const request = find(id);
  if (!request) {
    return [h("p", {}, "The request ", h("code", {}, id ?? ""), " is not among the last 1,000 that the server keeps while a "
      + "dashboard is open. The server's log has it under this uuid."), h("p", {}, link({ view: "requests" }, "All requests"))];
  }
  const help = remedy(request.errorCode, request.reason);
  const { container, environment, database, account } = request;
  const hasRecords = container && (database === "public" || (database === "private" && account));
  return [
    isFailed(request) ? [h("h2", {}, "Why it failed"),
      request.errorCode ? h("p", { class: "bad" }, request.errorCode + ": " + (request.reason ?? "")) : "",
      itemErrors(request), help ? h("p", {}, help) : ""] : "",
    h("h2", {}, "The request"),
    facts([["time", time(request.time)], ["endpoint", request.method + " " + request.endpoint], ["status", String(request.status)],
      ["what", request.summary], ["account", account], ["container", container], ["environment", environment],
      ["database", database], ["took", request.milliseconds + " ms"],
      ["answer", request.answerSize === undefined ? null : request.answerSize + " bytes"],
      ["uuid", h("code", {}, request.requestID)]]),
    h("ul", { class: "inline" },
      hasRecords ? h("li", {}, link({ view: "records", container, environment, database,
        account: database === "private" ? account : null }, "Records of this database")) : "",
      container && account ? h("li", {}, link({ view: "people", container, environment, who: account },
        "Why does " + account + " not see a record?")) : "",
      h("li", {}, link({ view: "requests" }, "All requests"))),
    command(request),
  ];
}
