// Requests to the server. Reads are repeated until the server answers; writes are sent once.
import { directions } from "./dom.js";

const tokenKey = "nephos-session";
const longestWait = 10_000;

/** A refusal, in the server's words. */
export class Problem extends Error {
  constructor(status, answer, retryAfter) {
    super(answer?.reason ?? "The server answered with the status " + status + ".");
    Object.assign(this, { status, retryAfter, answer, code: answer?.serverErrorCode, uuid: answer?.uuid });
  }

  /** Whether the caller has to sign in. */
  get needsSignIn() { return this.status === 401 || this.status === 421; }

  /** What the reader can do about it. */
  get advice() {
    if (this.status === 403) return "Your role does not permit this. Ask an administrator of the server for it.";
    if (this.status === 429) return "Too many requests: wait a moment.";
    return "";
  }
}

const connection = () => document.getElementById("connection");

function say(text) {
  if (connection().textContent !== text) connection().textContent = text;
}

/** Whether this is a production server, to which one signs in. */
export const isProduction = () => sessionStorage.getItem(tokenKey) !== null;

/** Forgets the session, and ends it at the server. */
export function signOut() {
  granted.clear();
  if (isProduction()) once("POST", "/nephos/1/installation/sessions/sign-out", "{}").catch(() => {});
  sessionStorage.removeItem(tokenKey);
}

/** A call of the server's sign-in, and its answer. */
const ofSignIn = async (action, message, signal) =>
  JSON.parse(await once("POST", "/nephos/1/installation/" + action, JSON.stringify(message), signal));

function begin({ ckWebAuthToken }) {
  granted.clear();
  sessionStorage.setItem(tokenKey, ckWebAuthToken);
}

export const signIn = async (account, password) =>
  begin(await ofSignIn("sessions/sign-in", { account, password, administration: true, label: "Dashboard" }));

/** Begins a login that one approves at /login, by its code, where passkeys and providers sign in, too. */
export const beginLogin = () => ofSignIn("logins/begin", { administration: true, label: "Dashboard" });

/** Polls until a login is approved. A poll without an answer is repeated. */
export async function finishLogin({ secret, interval }, signal) {
  for (;;) {
    await sleep(1000 * interval, signal);
    try {
      const answer = await ofSignIn("logins/poll", { secret }, signal);
      if (answer.status === "signedIn") return begin(answer);
      if (answer.status === "denied") throw new Problem(403, { reason: "The login was denied." });
    } catch (error) {
      if (signal.aborted || error instanceof Problem && error.status !== 429 && error.status < 500) throw error;
    }
  }
}

/** Numbers that a double would round are BigInts, where the browser can tell. */
export const parse = (text) => JSON.parse(text, (key, value, context) =>
  typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value);

/** Indented JSON, in which controls of direction are escapes of JSON, so that it is JSON as it is drawn, too. */
export const pretty = (value) => JSON.stringify(value, (key, member) =>
  typeof member === "bigint" ? (JSON.rawJSON ? JSON.rawJSON(String(member)) : String(member)) : member, 2)
  ?.replace(directions, (control) => "\\u" + control.codePointAt(0).toString(16));

async function send(method, path, body, signal) {
  const token = sessionStorage.getItem(tokenKey);
  const headers = token ? { Authorization: "Bearer " + token } : {};
  const answer = await fetch(path, { method, body, signal, headers, cache: "no-store" });
  if (answer.ok) return answer;
  // A role may have been taken: the next view asks what the caller may do.
  if (answer.status === 403) granted.clear();
  let refusal = null;
  try { refusal = parse(await answer.text()); } catch { /* not an answer of this service */ }
  throw new Problem(answer.status, refusal, Number(answer.headers.get("Retry-After")) || refusal?.retryAfter);
}

const once = async (...request) => (await send(...request)).text();

export const sleep = (milliseconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, milliseconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

/** Sends a read until it is answered or refused for good. */
export async function read(method, path, body, signal) {
  for (let wait = 500; ; wait = Math.min(2 * wait, longestWait)) {
    try {
      const text = await once(method, path, body, signal);
      say("");
      return text;
    } catch (error) {
      if (signal?.aborted) throw error;
      const isRefusal = error instanceof Problem;
      if (isRefusal && error.status !== 429 && error.status < 500) { say(""); throw error; }
      if (isRefusal && error.retryAfter) wait = 1000 * error.retryAfter;
      say(isRefusal ? error.message + " Trying again." : "The server does not answer. Trying again.");
      await sleep(wait, signal);
    }
  }
}

const granted = new Map();

/** What the caller may do, also in a container. The server decides, and is asked once for each. */
export async function rights(container = "", signal) {
  if (!granted.has(container)) {
    const answer = await read("GET", "/status/rights?container=" + encodeURIComponent(container), undefined, signal);
    granted.set(container, parse(answer));
  }
  return granted.get(container);
}

const path = (place, action) =>
  "/nephos/1/" + [place.container, place.environment].map(encodeURIComponent).join("/") + "/" + action;

/** A read of the administration. */
export async function ask(place, action, message, signal) {
  return parse(await read("POST", path(place, action), JSON.stringify(message), signal));
}

/** A change by the administration, sent once. */
export const order = async (place, action, message) => parse(await once("POST", path(place, action), JSON.stringify(message)));

/** A read of what belongs to the installation of a production server. */
export const installation = async (action, message, signal) =>
  parse(await read("POST", "/nephos/1/installation/" + action, JSON.stringify(message), signal));

/** All elements of a list that comes in pages, `most` at most. */
export async function all(place, action, key, message, signal, most = 1000) {
  const found = [];
  for (let marker; ;) {
    const page = await ask(place, action, { ...message, continuationMarker: marker }, signal);
    found.push(...page[key]);
    marker = page.continuationMarker;
    if (!marker || found.length >= most) return Object.assign(found, { isComplete: !marker });
  }
}

export const schemaText = (place, signal) => read("GET", path(place, "schema/export"), undefined, signal);
export const schemaIndexes = async (place, signal) =>
  parse(await read("GET", path(place, "schema/indexes"), undefined, signal)).indexes;

/** What a deployment would change. */
export const deployment = (place, signal) => findings(async () =>
  parse(await read("GET", path(place, "schema/deployment"), undefined, signal)));

/** Deploys development's schema, once, if that makes the changes that were shown and no others. */
export const deploy = (place, changes) => findings(() => order(place, "schema/deploy", { changes }));

/** Erases development and gives it production's schema, once. */
export const reset = (place) => findings(async () => parse(await once("POST", path(place, "schema/reset"), "")));

/** The report of a command about the schema. A refused one has findings, too. */
async function findings(command) {
  try {
    return await command();
  } catch (error) {
    if (error.answer?.findings) return { ...error.answer, isRefused: true };
    throw error;
  }
}

let overview = null;

/** The server's content; as it was at most `age` milliseconds ago. */
export async function status(signal, age = 3000) {
  if (overview && Date.now() - overview.at < age) return overview.answer;
  const answer = parse(await read("GET", "/status", undefined, signal));
  overview = { answer, at: Date.now() };
  return answer;
}

/** The requests from a position on: the number of a request, and the server's ring that has it. */
export const recentRequests = async (after, signal) =>
  parse(await read("GET", "/status/requests?after=" + positionText(after), undefined, signal));

const positionText = ({ ring, number }) => ring ? ring + "-" + number : String(number);

/** Reads the stream of requests after a position until it ends. An EventSource could not send the session. */
export async function requestEvents(after, signal, take) {
  const answer = await send("GET", "/status/requests/stream?after=" + positionText(after), undefined, signal);
  say("");
  let rest = "";
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const events = (rest + piece.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) take(parse(data.slice(6)));
    }
  }
}

/** One of the last requests, with the errors of its items and, of a development server, its bodies; null if it is gone. */
export async function requestDetails(id, signal) {
  try {
    return parse(await read("GET", "/status/requests/show?id=" + encodeURIComponent(id), undefined, signal));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** The path of an endpoint. Those of push tokens are of no database. */
export const databasePath = ({ container, environment, database }, action) => (database ? "/database/1/" : "/device/1/")
  + [container, environment, database].filter(Boolean).map(encodeURIComponent).join("/") + "/" + action;

/**
 * Saves records as an account of a development server, by the ordinary endpoint. On a production server, public records as oneself.
 */
export async function modify(place, account, message) {
  if (isProduction()) return parse(await once("POST", path(place, "records/modify"), JSON.stringify(message)));
  const query = "?ckAPIToken=dashboard&ckWebAuthToken=" + encodeURIComponent("dev:" + account);
  return parse(await once("POST", databasePath(place, "records/modify") + query, JSON.stringify(message)));
}

/** How the service answers a recorded query. */
export const explained = async ({ database, account, requestBody, ...place }) => parse(await read("POST",
  path(place, "queries/explain"), pretty({ database, account, request: parse(requestBody) })));

/** Sends a recorded request of a development server once more, without its key, and returns the uuid of the new one. */
export async function modifyAgain(request) {
  const sign = request.account ? "&ckWebAuthToken=" + encodeURIComponent("dev:" + request.account) : "";
  const key = /,\s*"nephosRequestKey"\s*:\s*"[^"\\]*"|"nephosRequestKey"\s*:\s*"[^"\\]*"\s*,?/;
  const answer = await fetch(databasePath(request, request.endpoint) + "?ckAPIToken=dashboard" + sign,
    { method: "POST", body: request.requestBody.replace(key, ""), cache: "no-store" });
  await answer.text();
  return answer.headers.get("X-Apple-Request-UUID");
}

/** Uploads a file for a field of a record, and returns the field's value. */
export async function upload(place, account, zone, token, content) {
  const query = "?ckAPIToken=dashboard&ckWebAuthToken=" + encodeURIComponent("dev:" + account);
  const { tokens } = parse(await once("POST", databasePath(place, "assets/upload") + query,
    JSON.stringify({ zoneID: zone, tokens: [token] })));
  if (tokens[0].serverErrorCode) throw new Problem(400, tokens[0]);
  return parse(await once("POST", filePath(tokens[0].url, ""), content)).singleFile;
}

/** The path of a file at this server, under a name that the reader can tell. */
export function filePath(url, name) {
  const { pathname } = new URL(url.replace("${f}", encodeURIComponent(name)), location.href);
  return pathname;
}

/** The bytes of a file. */
export async function file(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Problem(answer.status, null);
  return answer.arrayBuffer();
}
