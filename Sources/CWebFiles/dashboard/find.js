// Records by their name alone, wherever they are.
import { all, rights } from "./api.js";
import { address, field, h, link, table } from "./dom.js";
import { accounts, knownContainers, nameIn } from "./scope.js";

/** The most records that are listed of a container. */
const most = 100;

export const title = ({ record }) => "Records named " + (record ?? "");

/** The form that finds a record by its name. */
export const findForm = (go, name = "") => h("form", { class: "row", "aria-label": "Find a record", onsubmit: (event) => {
  event.preventDefault();
  go(address({ view: "find", record: new FormData(event.target).get("record") }));
} }, field("Find a record by its name", h("input", { id: "find", name: "record", value: name, required: true })), h("button", {}, "Find"));

/** The addresses of the records in a container, and who has them. */
async function look({ container, environment }, recordName, signal) {
  const here = { container, environment };
  const isPublic = !(await rights(container, signal)).readPrivateRecords;
  const found = await all(here, "records/find", "records", { recordName, database: isPublic ? "public" : undefined }, signal, most);
  const known = found.some((one) => one.account) ? await accounts(here, signal) : [];
  return found.map(({ account, zoneName, recordType }) => ({ recordType, owner: account && nameIn(known, account),
    target: { ...here, view: "record", database: account ? "private" : "public", account, zone: zoneName, record: recordName } }));
}

export async function content({ record: name }, signal, go) {
  const found = name ? (await Promise.all((await knownContainers(signal)).map((one) => look(one, name, signal)))).flat() : [];
  if (found.length === 1) return go(address(found[0].target), { replaces: true });
  return [findForm(go, name), found.length ? table("Records of this name", [
    { title: "record name", cell: (one) => link(one.target, name) },
    { title: "record type", cell: (one) => one.recordType },
    { title: "container", cell: ({ target }) => target.container + ", " + target.environment },
    { title: "account", cell: (one) => one.owner ?? "public" },
    { title: "zone", cell: ({ target }) => target.zone },
  ], found) : h("p", {}, "No record has this name.")];
}
