// Accounts, their zones and shares, and why one of them does not see a record.
import { all, ask } from "./api.js";
import { address, field, h, link, table } from "./dom.js";
import { named } from "./names.js";
import { accountControl, accounts, afterKeys, changes, defaultZone, nameIn, nothing, place, placeControls, shownName } from "./scope.js";

export const title = () => "People";

const first = (list, but) => list.find((account) => account.name !== but)?.name;

async function explanation(here, { who, owner, zone, record }, signal) {
  try {
    const { lines } = await ask(here, "access/explain",
      { account: who, owner, zoneName: zone || defaultZone, recordName: record }, signal);
    return h("ul", {}, lines.map((line) => h("li", {}, named(line))));
  } catch (error) {
    if (signal.aborted || error.needsSignIn) throw error;
    return h("p", { class: "bad" }, error.message);
  }
}

/** The question why an account does not see a record. */
async function question(here, parameters, known, signal, go) {
  const { zone, record } = parameters;
  const owner = parameters.owner ?? first(known, parameters.who);
  const who = parameters.who ?? first(known, owner);
  const explain = (form) => go(address({ view: "people", container: here.container, environment: here.environment,
    ...Object.fromEntries(new FormData(form)) }));
  const submit = (event) => {
    event.preventDefault();
    explain(event.target);
  };
  // Where the record is known, the account is all that is asked for.
  const change = ({ target }) => { if (target.id === "who" && target.form.checkValidity()) afterKeys(target, () => explain(target.form)); };
  const isAsked = who && parameters.owner && record;
  return [h("h2", {}, "Why does an account not see a record?"),
    h("form", { class: "row", onsubmit: submit, onchange: change, "aria-label": "Why" },
      accountControl("who", "Account", known, who), accountControl("owner", "Owner of the record", known, owner),
      field("Zone", h("input", { id: "zone", name: "zone", value: zone ?? "", placeholder: defaultZone })),
      field("Record name", h("input", { id: "record", name: "record", value: record ?? "", required: true })),
      h("button", { class: "main" }, "Explain")),
    isAsked ? [h("h3", {}, nameIn(known, who) + " and " + nameIn(known, owner) + "’s record " + record), await explanation(here, { who, owner, zone, record }, signal)] : ""];
}

/** In place of a link that would be refused. */
const plain = (parameters, ...text) => h("span", {}, ...text);

const participants = (share, known) => share.participants.length ? h("ul", { class: "plain" }, share.participants.map((one) =>
  h("li", {}, (one.name ? nameIn(known, one.name) : "invited") + ": " + [one.type, one.permission, one.acceptanceStatus].filter(Boolean).join(", ").toLowerCase()))) : "—";

const shareColumns = (place, known, may) => [
  { title: "what", cell: (share) => share.rootRecordName ? (may.readPrivateRecords ? link : plain)({ view: "record", ...place, database: "private", account: share.account,
    zone: share.zoneName, record: share.rootRecordName }, share.rootRecordName) : "the zone " + share.zoneName },
  { title: "owner", cell: (share) => nameIn(known, share.account) },
  { title: "zone", cell: (share) => share.zoneName },
  { title: "who has the URL", cell: (share) => share.publicPermission.toLowerCase().replace("_", " ") },
  { title: "participants", cell: (share) => participants(share, known) },
];

function accountColumns(place, zones, may) {
  const records = (account, zone) => (may.readPrivateRecords ? link : plain)({ view: "records", ...place, database: "private", account: account.name, zone }, zone);
  return [
    { title: "account", cell: (account) => shownName(account) },
    { title: "zones", cell: (account) => h("ul", { class: "inline" }, [...zones.filter((zone) => zone.account === account.name)
      .map((zone) => zone.zoneName), defaultZone].map((zone) => h("li", {}, records(account, zone)))) },
    { title: "user record", cell: (account) => h("code", {}, account.userRecordName) },
  ];
}

export async function content(parameters, signal, go, may) {
  const here = await place(parameters, signal);
  if (!here) return nothing("people", go);
  const there = { container: here.container, environment: here.environment };
  const known = await accounts(here, signal);
  const none = Object.assign([], { isComplete: true });
  const [zones, { shares }] = known.length ? await Promise.all([all(here, "zones/list", "zones", {}, signal),
    ask(here, "shares/list", {}, signal)]) : [none, { shares: [] }];
  const more = known.isComplete && zones.isComplete ? "" : h("p", { class: "quiet" }, "There are more accounts or zones.");
  return [
    h("form", { class: "row", "aria-label": "Which container", onsubmit: (event) => event.preventDefault(),
      onchange: changes({ view: "people", ...there }, go) }, placeControls(here)),
    may.readPrivateRecords ? await question(here, parameters, known, signal, go) : "",
    h("h2", {}, "Accounts"),
    known.length ? table("Accounts", accountColumns(there, zones, may), known) : h("p", { class: "quiet" }, "No account yet."), more,
    h("h2", {}, "Shares"),
    shares.length ? table("Shares", shareColumns(there, known, may), shares) : h("p", { class: "quiet" }, "No share yet."),
  ];
}
