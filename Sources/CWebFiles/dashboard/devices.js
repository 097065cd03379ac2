// Clients, what they subscribe to, and how far behind they are; background jobs and limits; charts of the requests.
import { ask } from "./api.js";
import { drawCharts } from "./charts.js";
import { h, live, link, number, table, time } from "./dom.js";
import { accounts, changes, nameIn, nothing, place, placeControls } from "./scope.js";

const interval = 5000;

export const title = () => "Devices";

function behind({ zoneName, behind: count }, limit) {
  if (count === undefined || count === null) return zoneName + ": its token has expired";
  return zoneName + ": " + (count === 0 ? "has all changes" : number(count) + (count >= limit ? " or more" : "")
    + (count === 1 ? " change behind" : " changes behind"));
}

const clientColumns = (known, limit) => [
  { title: "account", cell: (one) => nameIn(known, one.account) },
  { title: "client", cell: (one) => one.client || "—" },
  { title: "last request", class: "short", cell: (one) => time(one.time) },
  { title: "endpoint", cell: (one) => one.endpoint },
  { title: "zones that it follows", cell: (one) => one.zones.length
    ? h("ul", { class: "plain" }, one.zones.map((zone) => h("li", {}, behind(zone, limit)))) : "—" },
];

const subscriptionColumns = (known) => [
  { title: "account", cell: (one) => nameIn(known, one.account) },
  { title: "subscription", cell: (one) => one.subscriptionID },
  { title: "database", cell: (one) => one.database },
  { title: "of", cell: (one) => (one.recordType ?? "every type") + (one.isOfZone ? ", one zone" : "") },
];

const receiverColumns = (known) => [
  { title: "account", cell: (one) => nameIn(known, one.account) },
  { title: "client", cell: (one) => one.client || "—" },
  { title: "how", cell: (one) => one.isDevice ? "Apple’s push service" : one.polls ? "polls" : "web hook" },
  { title: "last seen", class: "short", cell: (one) => time(one.seenAt) },
];

const section = (heading, none, columns, items) =>
  [h("h2", {}, heading), items.length ? table(heading, columns, items) : h("p", { class: "quiet" }, none)];

function lists(here, known, answer) {
  const { clients, clientCount, kept, limits, behindLimit } = answer;
  return [
    ...section("Clients", "No client with an account asked for this container since a dashboard was first opened.",
      clientColumns(known, behindLimit), clients),
    clientCount > clients.length ? h("p", { class: "quiet" }, "The last " + clients.length + " of " + number(clientCount) + ".") : "",
    ...section("Subscriptions", "No subscription yet.", subscriptionColumns(known), kept.subscriptions),
    ...section("Who gets notifications", "No client is registered for notifications.", receiverColumns(known), kept.receivers),
    ...section("Background jobs", "No job is waiting.", [{ title: "job", cell: (one) => one.kind },
      { title: "waiting", class: "number", cell: (one) => number(one.count) }], kept.jobs),
    kept.isComplete ? "" : h("p", { class: "quiet" }, "There are more accounts or jobs than are shown."),
    ...section("Limits", "", [{ title: "limit", cell: (one) => one.name },
      { title: "at most", class: "number", cell: (one) => number(one.value) }], limits),
  ].filter(Boolean);
}

export async function content(parameters, signal, go, may) {
  const here = await place(parameters, signal);
  if (!here) return nothing("devices", go);
  const there = { container: here.container, environment: here.environment };
  const known = await accounts(here, signal);
  let answer = await ask(here, "devices/list", {}, signal);
  const [top, bottom] = [h("div", {}), h("div", {})];
  const draws = [live(top, drawCharts), live(bottom, () => lists(there, known, answer))];
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      answer = await ask(here, "devices/list", {}, signal);
      draws.forEach((draw) => draw());
    } catch { /* the next view says why */ }
  }, interval);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [h("form", { class: "row", "aria-label": "Which container", onsubmit: (event) => event.preventDefault(),
    onchange: changes({ view: "devices", ...there }, go) }, placeControls(here)),
  may.viewInstallation ? [h("h2", {}, "Requests since this page was opened"), top] : "", bottom,
  may.viewInstallation ? h("p", {}, link({ view: "requests" }, "All requests")) : ""];
}
