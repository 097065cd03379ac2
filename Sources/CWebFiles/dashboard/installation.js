// What belongs to a production server: accounts with sessions, passkeys and tokens; administrators; API tokens and keys; the audit.
import { installation } from "./api.js";
import { address, facts, field, h, link, number, table, time } from "./dom.js";
import { signInName } from "./names.js";

export const title = ({ account }) => account ? "Account " + account : "Administration";

const yes = (value) => value ? "yes" : "no";
const at = (value) => value ? time(value) : "—";
const isExpired = (value) => value && value < Date.now();
const expiry = (value) => value ? h("span", { class: isExpired(value) ? "bad" : null }, isExpired(value) ? "expired " : "", time(value)) : "never";

const section = (heading, none, columns, items) =>
  [h("h2", {}, heading), items.length ? table(heading, columns, items) : h("p", { class: "quiet" }, none)];

const accountLink = (name) => link({ view: "installation", account: name }, name);

/** All accounts after a name, in pages of the server's size. */
function accountSection({ accounts, next }, after) {
  return [...section("Accounts", after ? "No account after " + after + "." : "No account yet.", [
    { title: "account", cell: (one) => accountLink(one.name) },
    { title: "made", class: "short", cell: (one) => at(one.createdAt) },
    { title: "password", cell: (one) => yes(one.hasPassword) },
    { title: "verified", cell: (one) => one.isVerified === undefined || one.isVerified === null ? "—" : yes(one.isVerified) },
    { title: "ID", cell: (one) => h("code", {}, one.id) },
  ], accounts),
  h("ul", { class: "inline", "aria-label": "Pages of accounts" },
    after ? h("li", {}, link({ view: "installation" }, "First accounts")) : "",
    next ? h("li", {}, link({ view: "installation", after: next }, "Next accounts")) : "")];
}

const place = (one) => [one.container, one.environment].filter(Boolean).join(", ");

const tokenColumns = [
  { title: "token", cell: (one) => h("code", {}, one.token) },
  { title: "name", cell: (one) => one.name || "—" },
  { title: "container", cell: place },
  { title: "web pages", cell: (one) => one.origins.length ? one.origins.join(", ") : "—" },
  { title: "signs in", cell: (one) => yes(one.allowsSignIn) },
  { title: "made", class: "short", cell: (one) => at(one.createdAt) },
  { title: "expires", class: "short", cell: (one) => expiry(one.expiresAt) },
];

const keyColumns = [
  { title: "key", cell: (one) => h("code", {}, one.keyID) },
  { title: "name", cell: (one) => one.name || "—" },
  { title: "container", cell: place },
  { title: "made", class: "short", cell: (one) => at(one.createdAt) },
];

/** The bytes of a network in hexadecimal digits, as people write them: an IPv4 address, or the first half of an IPv6 one. */
const network = (text = "") => text.length === 8 ? text.match(/../g).map((byte) => parseInt(byte, 16)).join(".")
  : text.length === 16 ? text.match(/.{4}/g).map((group) => parseInt(group, 16).toString(16)).join(":").replace(/(:0)+$/, "") + "::/64" : text;

/** A page of the audit, the newest event first: that before a batch, or the newest one. */
async function audit(batch, signal) {
  const named = (text) => text.split(" ").map(signInName).join(" ");
  const page = await installation("audit/list", { before: batch ? Number(batch) : 0 }, signal);
  const { problem, head, batches } = await installation("audit/verify", {}, signal);
  const columns = [
    { title: "time", class: "short", cell: (one) => at(one.time) },
    { title: "event", cell: (one) => one.event + (one.count > 1 ? " (" + number(one.count) + " times)" : "") },
    { title: "by", cell: (one) => named(one.actor) || "—" }, { title: "from", cell: (one) => network(one.address) || "—" },
    { title: "of", cell: (one) => named(one.object) || "—" },
  ];
  return [...section("Audit", "No event.", columns, page.events.toReversed()),
    problem ? h("p", { class: "bad" }, "The log is not whole: " + problem)
      : h("p", { class: "good" }, "The log is whole: " + number(batches) + " batches" + (head ? ", the last " : "."),
        head ? h("code", {}, head) : ""),
    h("ul", { class: "inline", "aria-label": "Pages of the audit" },
      batch ? h("li", {}, link({ view: "installation" }, "Newest events")) : "",
      page.previous ? h("li", {}, link({ view: "installation", batch: page.previous }, "Earlier events")) : "")];
}

async function oneAccount(account, signal) {
  const [{ sessions }, { passkeys }, { programTokens }, { roles }] = await Promise.all([
    installation("sessions/list", { account }, signal), installation("passkeys/list", { account }, signal),
    installation("program-tokens/list", { account }, signal), installation("roles/list", {}, signal)]);
  const own = roles.filter((role) => role.account.toLowerCase() === account.toLowerCase());
  return [h("p", {}, link({ view: "installation" }, "All accounts")),
    facts([["roles", own.map((one) => one.role + (one.container ? " of " + one.container : "")).join(", ") || "none"]]),
    ...section("Sessions", "No session.", [
      { title: "session", cell: (one) => one.label || (one.isOfBrowser ? "browser" : "—") }, { title: "for", cell: (one) => place(one) || "the server" },
      { title: "signed in", class: "short", cell: (one) => at(one.signedInAt) },
      { title: "expires", class: "short", cell: (one) => expiry(one.expiresAt) },
      { title: "ID", cell: (one) => h("code", {}, one.id) }], sessions),
    ...section("Passkeys", "No passkey.", [{ title: "passkey", cell: (one) => one.name || "—" },
      { title: "for", cell: (one) => one.relyingParty }, { title: "made", class: "short", cell: (one) => at(one.createdAt) },
      { title: "last used", class: "short", cell: (one) => at(one.lastUsedAt) }], passkeys),
    ...section("Program tokens", "No program token.", [{ title: "program", cell: (one) => one.name || "—" },
      { title: "places", cell: (one) => one.places.map(place).join("; ") }, { title: "databases", cell: (one) => one.databases.join(", ") },
      { title: "may", cell: (one) => one.isReadOnly ? "read" : "read and write" },
      { title: "expires", class: "short", cell: (one) => expiry(one.expiresAt) }], programTokens),
    h("p", { class: "quiet" }, "Sessions end, and tokens and passkeys go, by ", h("code", {}, "nephos sessions"), ", ",
      h("code", {}, "nephos program-tokens"), " and ", h("code", {}, "nephos accounts"), ".")];
}

export async function content({ account, after, batch }, signal, go) {
  if (account) return oneAccount(account, signal);
  const [accounts, { roles }, { apiTokens }, { serverKeys }, { containers, beingDeleted }] = await Promise.all([
    installation("accounts/list", { after: after ?? "" }, signal), installation("roles/list", {}, signal),
    installation("api-tokens/list", {}, signal), installation("server-keys/list", {}, signal),
    installation("containers/list", {}, signal)]);
  const name = h("input", { id: "name", required: true });
  const open = (event) => {
    event.preventDefault();
    go(address({ view: "installation", account: name.value.trim() }));
  };
  return [h("form", { class: "row", "aria-label": "One account", onsubmit: open }, field("Account", name), h("button", {}, "Open")),
    ...accountSection(accounts, after),
    ...section("Administrators", "Nobody has a role.", [{ title: "account", cell: (one) => accountLink(one.account) },
      { title: "role", cell: (one) => one.role }, { title: "container", cell: (one) => one.container ?? "all" }], roles),
    ...section("Containers", "No container yet.", [{ title: "container",
      cell: (one) => one.isDeleted ? `${one.name}, being deleted` : link({ view: "records", container: one.name }, one.name) }],
      [...containers.map((name) => ({ name })), ...(beingDeleted ?? []).map((name) => ({ name, isDeleted: true }))]),
    ...section("API tokens", "No API token.", tokenColumns, apiTokens),
    ...section("Server-to-server keys", "No key.", keyColumns, serverKeys), ...await audit(batch, signal)];
}
