// The views, by the address: /dashboard?view=…
import { beginLogin, finishLogin, isProduction, Problem, rights, signIn, signOut } from "./api.js";
import { field, h, link } from "./dom.js";
import { follow } from "./live.js";
import { fetchNames } from "./names.js";
import * as overview from "./overview.js";
import * as requests from "./requests.js";
import * as request from "./request.js";
import * as records from "./records.js";
import * as record from "./record.js";
import * as find from "./find.js";
import * as schema from "./schema.js";
import * as people from "./people.js";
import * as devices from "./devices.js";
import * as faults from "./faults.js";
import * as installation from "./installation.js";

const views = { overview, requests, request, records, record, find, schema, people, devices, faults, installation };
/** The entries, with the right that a view needs of all. */
const menu = [["overview", "Overview"], ["requests", "Requests", "viewInstallation"], ["records", "Records"], ["schema", "Schema"],
  ["people", "People"], ["devices", "Devices"], ["faults", "Faults", "faults"], ["installation", "Administration", "viewInstallation"]];
const ofContainer = ["records", "schema", "people", "devices", "faults"];
/** Which entry of the menu a view belongs to, where it is not its own. */
const parents = { request: "requests", record: "records", find: "records" };

/** How many milliseconds the former view stays while the next one is fetched. */
const patience = 400;

const main = document.getElementById("content");
let current = new AbortController();

/** The parameters of the address. */
const parameters = () => Object.fromEntries(new URLSearchParams(location.search));

function showMenu(name, { container, environment }, may) {
  const own = menu.filter(([view]) => view !== "installation" || isProduction());
  const entries = own.filter(([, , right]) => !right || may[right]).map(([view, title]) => {
    const made = link(ofContainer.includes(view) ? { view, container, environment } : { view }, title);
    if (view === (parents[name] ?? name)) made.setAttribute("aria-current", view === name ? "page" : "true");
    return h("li", {}, made);
  });
  const out = isProduction() && h("li", {}, h("button", { type: "button", onclick: () => { signOut(); location.reload(); } }, "Sign out"));
  document.getElementById("views").replaceChildren(...entries, ...(out ? [out] : []));
}

/** Signs in by a code that one approves at the server's own page. */
async function signInByCode(button, shown, problem, { signal }) {
  button.disabled = true;
  try {
    const login = await beginLogin();
    shown.replaceChildren("Sign in at ", h("a", { href: "/login", target: "_blank" }, "the server's page"), ", type the code ",
      h("code", { id: "code" }, login.code), " there and approve it. This page goes on by itself.");
    await finishLogin(login, signal);
    show();
  } catch (error) {
    if (signal.aborted) return;
    shown.replaceChildren();
    problem.textContent = error.message;
    button.disabled = false;
    button.focus();
  }
}

function signInForm() {
  const problem = h("p", { class: "bad", role: "alert" });
  const shown = h("p", { role: "status" });
  const asking = current;
  const byCode = ({ target }) => { problem.textContent = ""; signInByCode(target, shown, problem, asking); };
  const account = h("input", { id: "account", autocomplete: "username", required: true });
  const password = h("input", { id: "password", type: "password", autocomplete: "current-password", required: true });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(account.value, password.value);
      show();
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  return [h("p", {}, "This server shows its content to accounts that have a role in its administration."),
    h("form", { class: "row", onsubmit: submit }, field("Account", account), field("Password", password),
      h("button", { class: "main" }, "Sign in"),
      h("button", { type: "button", id: "by-code", onclick: byCode }, "Sign in by passkey or provider")), shown, problem];
}

function shownProblem(error) {
  if (!(error instanceof Problem)) console.error(error);
  if (error.needsSignIn) {
    signOut();
    return signInForm();
  }
  return [h("p", { class: "bad" }, error.message), error.advice && h("p", {}, error.advice),
    error.uuid && h("p", { class: "quiet" }, "uuid ", h("code", {}, error.uuid)),
    h("button", { type: "button", onclick: () => show() }, "Try again")].filter(Boolean);
}

let isFollowing = false;

/** Why the caller does not see a view; nothing for one that is shown. */
function hindrance(name, may) {
  if (name === "installation" && !isProduction()) return h("p", {}, "A development server has no accounts or tokens to administer.");
  const [, , right] = menu.find(([view]) => view === (parents[name] ?? name));
  if (!right || may[right]) return null;
  return h("p", { class: "bad" }, right === "faults" ? "A production server has no faults."
    : "Your role does not permit this: it is for administrators of the server.");
}

/** Follows the requests of the server, if the caller may see them. */
function startFollowing(may) {
  if (isFollowing || !may.viewInstallation) return;
  isFollowing = true;
  follow().finally(() => { isFollowing = false; });
}

/** Shows the view of the address, and moves the focus to where it was, or else to the view's heading. */
async function show({ movesFocus = true } = {}) {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const asked = parameters();
  const name = Object.hasOwn(views, asked.view ?? "") ? asked.view : "overview";
  const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
  const title = views[name].title(asked);
  document.title = title + " · Nephos";
  const heading = h("h1", { tabindex: "-1" }, title);
  main.setAttribute("aria-busy", "true");
  const late = setTimeout(() => {
    if (!signal.aborted) main.replaceChildren(heading, h("p", { class: "quiet" }, "Waiting for the server …"));
  }, patience);
  let content, may = {};
  try {
    may = await rights(asked.container, signal);
    if (signal.aborted) return;
    showMenu(name, asked, may);
    startFollowing(may);
    await fetchNames(may, signal);
    content = hindrance(name, may) ?? await views[name].content(asked, signal, go, may);
  } catch (error) {
    if (signal.aborted) return;
    content = shownProblem(error);
    if (error.status === 403) may = await rights(asked.container, signal).catch(() => may);
    showMenu(name, asked, may);
  } finally {
    clearTimeout(late);
  }
  if (signal.aborted) return;
  main.replaceChildren(heading, ...[content].flat(Infinity).filter(Boolean));
  main.removeAttribute("aria-busy");
  const again = focused && main.querySelector("#" + CSS.escape(focused));
  if (again) again.focus();
  else if (movesFocus) heading.focus();
}

/** Goes to another address: a new entry of the history, or in place of this one. */
function go(address, { replaces = false } = {}) {
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  return show();
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  const isPlain = !event.defaultPrevented && event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!anchor || !isPlain || anchor.target || anchor.hasAttribute("download")) return;
  if (anchor.origin !== location.origin || anchor.pathname !== "/dashboard" || anchor.hash) return;
  event.preventDefault();
  go(anchor.href).then(() => scrollTo(0, 0));
});
addEventListener("popstate", () => show());

show({ movesFocus: false });
