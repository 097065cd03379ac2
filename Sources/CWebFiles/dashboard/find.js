// Records by their name alone, wherever they are.
import { all, ask, Problem, rights, status } from "./api.js";
import { address, field, h, link, table } from "./dom.js";
import { accounts, defaultZone, shownName } from "./scope.js";

/** The most zones that are looked in, and how many at once. */
const most = 400, atOnce = 5;

export const title = ({ record }) => "Records named " + (record ?? "");

/** The form that finds a record by its name. */
export const findForm = (go, name = "") => h("form", { class: "row", "aria-label": "Find a record", onsubmit: (event) => {
  event.preventDefault();
  go(address({ view: "find", record: new FormData(event.target).get("record").trim() }));
} }, field("Find a record by its name", h("input", { id: "find", name: "record", value: name, required: true })), h("button", {}, "Find"));

/** The zones of a container in which records may be. */
async function zones({ container, environment }, signal) {
  const here = { container, environment };
  const everywhere = { ...here, database: "public", zone: defaultZone };
  if (!(await rights(container, signal)).readPrivateRecords) return [everywhere];
  const [known, custom] = await Promise.all([accounts(here, signal), all(here, "zones/list", "zones", {}, signal)]);
  const shown = new Map(known.map((account) => [account.name, shownName(account)]));
  const own = (account, zone) => ({ ...here, database: "private", account, zone, shownAccount: shown.get(account) ?? account });
  return [everywhere, ...known.map((account) => own(account.name, defaultZone)), ...custom.map((zone) => own(zone.account, zone.zoneName))];
}

/** The record in a zone; null without one. */
async function look({ database, account, zone, ...here }, recordName, signal) {
  try {
    const answer = await ask(here, "records/show", { database, account, zoneName: zone, recordName }, signal);
    const record = answer.record ?? answer.records[0];
    return record.serverErrorCode ? null : record;
  } catch (error) {
    if (error instanceof Problem && !error.needsSignIn) return null;
    throw error;
  }
}

export async function content({ record: name }, signal, go) {
  const { containers } = await status(signal);
  const places = name ? (await Promise.all(containers.map((one) => zones(one, signal)))).flat() : [];
  const searched = places.slice(0, most);
  const found = [];
  const next = searched.values();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const place of next) {
      const record = await look(place, name, signal);
      if (record) found.push({ place, record });
    }
  }));
  const target = ({ place: { shownAccount, ...place } }) => ({ view: "record", ...place, record: name });
  if (found.length === 1 && searched.length === places.length) return go(address(target(found[0])), { replaces: true });
  return [findForm(go, name),
    found.length ? table("Records of this name", [
      { title: "record name", cell: (one) => link(target(one), name) },
      { title: "record type", cell: ({ record }) => record.recordType },
      { title: "container", cell: ({ place }) => place.container + ", " + place.environment },
      { title: "account", cell: ({ place }) => place.shownAccount ?? "public" },
      { title: "zone", cell: ({ place }) => place.zone },
    ], found) : h("p", {}, "No record has this name."),
    searched.length < places.length ? h("p", { class: "quiet" }, "Looked in the first " + most + " zones.") : ""];
}
