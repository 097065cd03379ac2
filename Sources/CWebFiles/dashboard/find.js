// Records by their name or a value alone, wherever they are.
import { all, ask, rights } from "./api.js";
import { address, field, h, link, table } from "./dom.js";
import { accounts, knownContainers, nameIn, nothing } from "./scope.js";

/** The most records that are listed of a container. */
const most = 100;

export const title = ({ record }) => "Records with " + (record ?? "");

/** The form that finds a record by its name or a value. */
export const findForm = (go, text = "") => h("form", { class: "row", "aria-label": "Find a record", onsubmit: (event) => {
  event.preventDefault();
  go(address({ view: "find", record: new FormData(event.target).get("record") }));
} }, field("Find a record by its name or a value", h("input", { id: "find", name: "record", value: text, required: true })),
h("button", {}, "Find"));

const columns = [
  { title: "record name", cell: (one) => link(one.target, one.target.record) },
  { title: "record type", cell: (one) => one.recordType },
  { title: "container", cell: ({ target }) => target.container + ", " + target.environment },
  { title: "account", cell: (one) => one.owner ?? "public" },
  { title: "zone", cell: ({ target }) => target.zone },
];
const valueColumns = [...columns, { title: "field", cell: (one) => one.field }, { title: "text", cell: (one) => one.text }];

/** Where a container is searched: all of it, or its public database where the caller may not read others. */
async function searched({ container, environment }, signal) {
  const isPublic = !(await rights(container, signal)).readPrivateRecords;
  return { container, environment, database: isPublic ? "public" : undefined };
}

/** The records that were found, with their addresses and who has them. */
async function located({ container, environment }, found, recordName, signal) {
  const here = { container, environment };
  const known = found.some((one) => one.account) ? await accounts(here, signal) : [];
  return found.map((one) => ({ ...one, owner: one.account && nameIn(known, one.account), target: { ...here, view: "record",
    database: one.account ? "private" : "public", account: one.account, zone: one.zoneName, record: recordName ?? one.recordName } }));
}

async function named(place, recordName, signal) {
  const found = await all(place, "records/find", "records", { recordName, database: place.database }, signal, most);
  return located(place, found, recordName, signal);
}

/** The first records with a value of a container, and the marker after them. */
async function valued(place, value, continuationMarker, signal) {
  const answer = await ask(place, "records/find", { value, database: place.database, continuationMarker }, signal);
  return { place, marker: answer.continuationMarker, found: await located(place, answer.records, null, signal) };
}

/** The rounds in which a search looks on by itself, each at 20,000 records of every container. */
const rounds = 50;

/** Opens the only record that was found by a value. Its page leads on to those that may be further on. */
const openOnly = (value, { target }, isAll, go) => go(address({ ...target, found: isAll ? "" : value }), { replaces: true });

/**
 * The records with a value. Until there is one, the search looks on by itself, and opens it; then a button looks further.
 * @param isAll whether the reader asked for more than the first
 */
function valueList(value, pages, isAll, signal, go) {
  const region = h("div", {});
  const found = () => pages.flatMap((page) => page.found);
  const further = () => pages.filter((page) => page.marker);
  let isLooking = false;
  const draw = () => region.replaceChildren(
    found().length ? table("Records with this value", valueColumns, found()) : h("p", { role: "status" },
      isLooking ? "Looking at more records…" : "No record has this name or value."
        + (further().length ? " Not all records were looked at." : "")),
    further().length ? h("p", {}, isLooking
      ? h("button", { type: "button", id: "stop", onclick: () => { isLooking = false; } }, "Stop")
      : h("button", { type: "button", id: "further", onclick: () => look() }, "Look further")) : "");
  const look = async () => {
    isLooking = true;
    draw();
    try {
      const known = found().length;
      for (let round = 0; round < rounds && isLooking && further().length && found().length === known; round += 1) {
        await Promise.all(further().map(async (page) => {
          const next = await valued(page.place, value, page.marker, signal);
          page.found.push(...next.found);
          page.marker = next.marker;
        }));
      }
    } catch (error) { if (!signal.aborted) region.after(h("p", { class: "bad" }, error.message)); }
    isLooking = false;
    if (signal.aborted) return;
    draw();
    if (!isAll && found().length === 1) openOnly(value, found()[0], !further().length, go);
  };
  if (isAll ? !further().length : found().length || !further().length) draw(); else look();
  return region;
}

export async function content({ record: text, all: isAll }, signal, go) {
  if (!text) return [findForm(go)];
  const known = await knownContainers(signal);
  const places = await Promise.all(known.map((one) => searched(one, signal)));
  if (!places.length) return [findForm(go, text), ...nothing("records", go)];
  const found = (await Promise.all(places.map((place) => named(place, text, signal)))).flat();
  if (found.length === 1) return go(address(found[0].target), { replaces: true });
  if (found.length) return [findForm(go, text), table("Records of this name", columns, found)];
  const pages = await Promise.all(places.map((place) => valued(place, text, undefined, signal)));
  const only = pages.flatMap((page) => page.found);
  if (only.length === 1 && !isAll) return openOnly(text, only[0], pages.every((page) => !page.marker), go);
  const unread = places.filter((place) => place.database).map((place) => place.container);
  return [findForm(go, text), valueList(text, pages, isAll, signal, go), unread.length ? h("p", {}, "Only the public databases of "
    + [...new Set(unread)].join(", ") + " were looked at: your role reads no private records.") : "", known.isComplete === false ? h("p", {}, "There are more containers: only "
    + known.length + " were looked at. ", link({ view: "records" }, "Records of one of the others")) : ""];
}
