// What a view is about: container, environment, database, account, zone, type. All of it is in the address.
import { all, Problem, rights, signOut, status } from "./api.js";
import { address, field, h, select } from "./dom.js";

export const defaultZone = "_defaultZone";

/** Why a change was refused. One that needs a recent sign-in leads to it. */
export const refusal = (error) => h("p", { class: "bad" }, error.message, " ", error.needsSignIn
  ? h("button", { type: "button", onclick: () => { signOut(); location.reload(); } }, "Sign in") : "");

/** Parameters that lose their meaning with another one. */
const dependents = {
  container: ["environment", "database", "account", "zone", "type"], environment: ["account", "zone", "type"],
  database: ["account", "zone", "type"], account: ["zone", "type"], zone: [], type: [],
};
const ofOnePage = ["marker", "page", "columns", "sort", "order",
  ...["", "2", "3", "4"].flatMap((number) => ["field" + number, "comparator" + number, "value" + number])];

const environments = ["development", "production"];

/** The containers that the caller may list, with `isComplete`; with roles of single containers, those, whatever is in them. */
export async function knownContainers(signal) {
  try {
    const { containers, isComplete } = await status(signal);
    return Object.assign([...containers], { isComplete });
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 403) throw error;
    const { containers } = await rights("", signal);
    return containers.flatMap((container) => environments.map((environment) => ({ container, environment, recordTypes: [] })));
  }
}

/** The container and environment of an address, or the first ones; null without any. */
export async function place(parameters, signal) {
  const containers = await knownContainers(signal);
  const container = parameters.container || containers[0]?.container;
  if (!container) return null;
  const found = containers.filter((one) => one.container === container);
  const environment = parameters.environment || found[0]?.environment || "development";
  const known = found.find((one) => one.environment === environment);
  return { container, environment, types: known?.recordTypes.map((type) => type.name) ?? [],
    containers: [...new Set([...containers.map((one) => one.container), container])] };
}

/** The accounts of a container. */
export const accounts = (place, signal) => all(place, "accounts/list", "accounts", {}, signal);

/** The name of an account for people. Stores of a production server know it by its ID, administrators by its sign-in name. */
export const shownName = (account) => account.signInName ?? account.name;

/** The shown name of the account with a name or ID. */
export const nameIn = (accounts, name) => shownName(accounts.find((account) => account.name === name) ?? { name });

/** The names of an account's zones, those that it made first. */
export async function zones(place, account, signal) {
  const found = await all(place, "zones/list", "zones", { account }, signal);
  return [...found.map((zone) => zone.zoneName), defaultZone];
}

let isByKeys = false;
addEventListener("keydown", () => { isByKeys = true; }, true);
addEventListener("pointerdown", () => { isByKeys = false; }, true);

/** Shows what a control asks for once it has changed; a list, where each arrow key is a change, with Enter or when it is left. */
export function afterKeys(control, show) {
  if (control.localName !== "select" || !isByKeys) return show();
  control.title = "Enter shows it.";
  control.onkeydown = ({ key }) => {
    if (key !== "Enter") return;
    control.onblur = null;
    show();
  };
  // The focus is first where it goes.
  control.onblur = () => setTimeout(() => { if (control.isConnected) show(); });
}

/** Shows another address when a control of a form changes. */
export const changes = (parameters, go) => ({ target }) => afterKeys(target, () => {
  const { name, value } = target;
  const next = { ...parameters, [name]: value };
  for (const dependent of [...dependents[name], ...ofOnePage]) if (dependent !== name) delete next[dependent];
  go(address(next));
});

/** The controls for container and environment. */
export const placeControls = (place) => [
  field("Container", select("container", place.containers, place.container)),
  field("Environment", select("environment", environments, place.environment)),
];

/** A control for an account: a list of names, or, if there are too many, a text. */
export function accountControl(id, title, accounts, chosen) {
  const names = accounts.map((account) => [account.name, shownName(account)]);
  const isKnown = !chosen || accounts.some((account) => account.name === chosen);
  if (accounts.isComplete) return field(title, select(id, isKnown ? names : [[chosen, chosen], ...names], chosen));
  return field(title, [h("input", { id, name: id, list: id + "s", value: chosen ?? "" }),
    h("datalist", { id: id + "s" }, names.map(([, name]) => h("option", { value: name })))]);
}

/** A form for the name of a container, where none is listed. */
export const nothing = (view, go) => [h("p", {}, "No container is listed: there is none yet, or your role is for single ones."),
  h("form", { class: "row", "aria-label": "Which container", onsubmit: (event) => {
    event.preventDefault();
    go(address({ view, container: new FormData(event.target).get("container").trim() }));
  } }, field("Container", h("input", { id: "container", name: "container", required: true })), h("button", {}, "Show"))];
