// What is to go wrong: the faults of a container of a development server, as `nephos faults` has them.
import { ask, order } from "./api.js";
import { facts, field, h, live, number, table } from "./dom.js";
import { changes, nothing, place, placeControls } from "./scope.js";

const interval = 2000;

/** The words of a fault, in their order. */
const words = [
  ["operation", "any, save, delete, fetch, query, changes, zones, subscriptions, assets, sharing, notification, keys or account"],
  ["whose, optionally", "type=NAME record=NAME zone=NAME database=private|public|shared account=NAME device=ID"],
  ["which, else the next", "nth=N first=N every probability=P"],
  ["how, optionally", "when=before|after|amid level=item|request retry=SECONDS"],
  ["code of CKError", "networkFailure, quotaExceeded, serverRecordChanged …"],
];

export const title = () => "Faults";

function list(faults, remove) {
  if (!faults.length) return [h("p", { class: "quiet" }, "No request is to go wrong.")];
  return [table("Faults", [
    { title: "fault", class: "cell", cell: (one) => h("code", {}, one.fault) },
    { title: "matched", class: "number", cell: (one) => number(one.matched) },
    { title: "happened", class: "number", cell: (one) => number(one.happened) },
    { title: "remove", cell: (one) => h("button", { type: "button", id: "remove-" + one.id, "aria-label": "Remove the fault " + one.fault,
      onclick: () => remove(one.id) }, "Remove") },
  ], faults)];
}

export async function content(parameters, signal, go) {
  const here = await place(parameters, signal);
  if (!here) return nothing("faults", go);
  let { faults } = await ask(here, "faults/list", {}, signal);
  const line = h("input", { id: "fault", required: true, placeholder: "save first=2 networkFailure", autocomplete: "off", size: 40 });
  const problem = h("p", { class: "bad", role: "alert" });
  const region = h("div", {});
  const draw = () => list(faults, (id) => change("faults/clear", { id }));
  const update = live(region, draw);
  const change = async (action, message) => {
    problem.textContent = "";
    try {
      ({ faults } = await order(here, action, message));
      if (action === "faults/add") line.value = "";
    } catch (error) {
      problem.textContent = error.message;
    }
    region.replaceChildren(...draw());
    line.focus();
  };
  const submit = (event) => {
    event.preventDefault();
    change("faults/add", { fault: line.value });
  };
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      ({ faults } = await ask(here, "faults/list", {}, signal));
      update();
    } catch { /* the next view says why */ }
  }, interval);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [h("form", { class: "row", "aria-label": "Which container", onsubmit: (event) => event.preventDefault(),
    onchange: changes({ view: "faults", container: here.container, environment: here.environment }, go) }, placeControls(here)),
  h("form", { class: "row", "aria-label": "Add a fault", onsubmit: submit }, field("Fault", line), h("button", { class: "main" }, "Add")),
  problem, region,
  h("details", {}, h("summary", {}, "The words of a fault"), facts(words),
    h("p", {}, "What another device can cause is caused, and changes the data: unknownItem and serverRecordChanged delete or save "
      + "the record, zoneNotFound and userDeletedZone remove the zone.")),
  h("p", { class: "quiet" }, "Faults last until the server ends. In a terminal: nephos faults.")];
}
