// The first view: what there is, what came last, what was refused.
import { isProduction, status } from "./api.js";
import { h, link, live, number, table } from "./dom.js";
import { findForm } from "./find.js";
import { isFailed, listen, recent } from "./live.js";
import { signInName } from "./names.js";
import { isAdministration, requestColumns } from "./requests.js";
import { knownContainers, nothing } from "./scope.js";

const shown = 10;
const interval = 2000;

export const title = () => "Overview";

const isChange = (request) => /\/modify$/.test(request.endpoint) && request.status === 200 && request.method !== "OPTIONS";

/** Whether an app was refused. */
const isRefused = (request) => isFailed(request) && !isAdministration(request);

function howToConnect() {
  if (isProduction()) {
    return [h("p", {}, "No record was saved yet. Containers and their API tokens are made by ", h("code", {}, "nephos containers create"),
      " and ", h("code", {}, "nephos api-tokens create"), "; apps connect with"),
    h("pre", { tabindex: "0", role: "region", "aria-label": "Environment of an app" },
      "NEPHOS_URL=" + location.origin + "\nNEPHOS_API_TOKEN=…")];
  }
  const save = "curl '" + location.origin + "/database/1/iCloud.org.example.App/development/private/records/modify"
    + "?ckAPIToken=any&ckWebAuthToken=dev:NAME' -d '{\"operations\": [{\"operationType\": \"create\", "
    + "\"record\": {\"recordType\": \"Note\", \"fields\": {\"text\": {\"value\": \"Hello\"}}}}]}'";
  return [h("p", {}, "There is no container yet. One is made by the first request to it, and this page shows it by itself."),
    h("h2", {}, "Connect an app"),
    h("pre", { tabindex: "0", role: "region", "aria-label": "Environment of an app" },
      "NEPHOS_URL=" + location.origin + "\nNEPHOS_TOKEN=dev:NAME"),
    h("h2", {}, "Or save a record by Web Services"),
    h("pre", { tabindex: "0", role: "region", "aria-label": "Command" }, save)];
}

const containerViews = ({ container, environment }) => [
  h("h3", {}, container, h("span", { class: "quiet" }, " " + environment)),
  h("ul", { class: "inline", "aria-label": "Views of the container" },
    h("li", {}, link({ view: "records", container, environment, database: "public" }, "public records")),
    h("li", {}, link({ view: "schema", container, environment }, "schema")),
    h("li", {}, link({ view: "people", container, environment }, "people")))];

/** The containers of a role of single ones, which does not see what is in all of them. */
async function ownContainers(signal, go) {
  const found = await knownContainers(signal);
  if (!found.length) return nothing("schema", go);
  return [findForm(go), h("h2", {}, "Containers"),
    h("div", { class: "columns" }, found.map((one) => h("section", { class: "card" }, containerViews(one))))];
}

function containerCard(found) {
  const place = { container: found.container, environment: found.environment };
  const more = found.isComplete ? "" : "+";
  // Where the newest record of a type is: a click shows records.
  const newest = ({ database, account, zone }) => ({ database, account, zone: database === "private" ? zone : null });
  const types = found.recordTypes.filter((type) => type.name !== "Users");
  return h("section", { class: "card" },
    containerViews(place),
    h("p", {}, "Records of ", found.accounts.length ? found.accounts.map((account, index) => [index ? ", " : "",
      link({ view: "records", ...place, database: "private", account }, signInName(account))]) : "no account yet",
      h("span", { class: "quiet" }, " · " + number(found.zones) + more + (found.zones === 1 ? " zone" : " zones"))),
    types.length ? table("Record types of " + found.container, [
      { title: "record type", cell: (type) => link({ view: "records", ...place, ...newest(type), type: type.name }, type.name) },
      // A type of the schema may have none among the records that were counted, the last changed ones.
      { title: "records", class: "number", cell: (type) => type.records || !more ? number(type.records) + more : "older" },
    ], types) : h("p", { class: "quiet" }, "No records yet."));
}

/** Containers that were made have nothing before the first request. */
const isEmpty = ({ containers }) => containers.every((one) => !one.zones && !one.accounts.length && !one.recordTypes.length);

function containers(answer) {
  return [...isEmpty(answer) ? howToConnect() : [], answer.containers.length && h("h2", {}, "Containers"), h("div", { class: "columns" }, answer.containers.map(containerCard)),
    answer.isComplete ? null : h("p", { class: "quiet" }, "There are more containers.")].filter(Boolean);
}

function requestList(heading, none, filter, everything) {
  const found = recent.requests.filter(filter).slice(-shown).reverse();
  return [h("h2", {}, heading), found.length ? table(heading, requestColumns(), found) : h("p", { class: "quiet" }, none),
    found.length ? h("p", {}, link(everything, "All of them")) : ""];
}

function lists() {
  if (recent.problem) return [h("p", { class: "quiet" }, "The recent requests are not shown: " + recent.problem.message)];
  return [
    ...requestList("Newest changes", "No change since the dashboard was opened.", isChange, { view: "requests", text: "modify" }),
    ...requestList("Refused", "Nothing was refused since the dashboard was opened.", isRefused, { view: "requests", failed: "1" }),
  ];
}

export async function content(parameters, signal, go) {
  let answer;
  try {
    answer = await status(signal);
  } catch (error) {
    if (error.status === 403) return ownContainers(signal, go);
    throw error;
  }
  const [top, bottom] = [h("div", {}), h("div", {})];
  const drawTop = live(top, () => containers(answer));
  const drawBottom = live(bottom, lists);
  let isStale = false;
  listen(() => { isStale = true; drawBottom(); }, signal);
  // One look at a time, and none while nothing happens.
  const timer = setInterval(async () => {
    if (document.hidden || !(isStale || isEmpty(answer))) return;
    isStale = false;
    try {
      const newer = await status(signal, interval);
      if (JSON.stringify(newer.containers) === JSON.stringify(answer.containers)) return;
      const wasEmpty = isEmpty(answer);
      answer = newer;
      drawTop(wasEmpty);
    } catch { /* the next view says why */ }
  }, interval);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [findForm(go), top, bottom];
}
