// The recent requests of the server. One visible tab reads the server's stream for all tabs of the browser.
import { Problem, recentRequests, requestEvents, sleep } from "./api.js";

const limit = 1000;
const interval = 1000;
/** How many polls a page sends before it tries the stream once more. */
const polls = 60;

/**
 * The last requests, the oldest first, and how many were lost before them; whether the server has restarted since the page was
 * opened, and may have answered others meanwhile.
 */
export const recent = { requests: [], missed: 0, hasRestarted: false, problem: null };

/** The number of items that failed. */
export const failures = ({ failedItems }) => Array.isArray(failedItems) ? failedItems.length : failedItems ?? 0;

/** That nobody is signed in is an answer to the question who is. */
const isAnswerOfNobody = (request) => request.endpoint === "users/caller" && request.status === 421;

export const isFailed = (request) => request.status >= 400 && !isAnswerOfNobody(request) || failures(request) > 0;

/** Whether an entry is a notification that the server sent, and no request. */
export const isNotification = ({ endpoint }) => endpoint === "notification";

/** The position after the last request. A server has another ring after a restart. */
let next = { ring: "", number: 0 };
/** Whether the page has the requests from before it was opened. */
let isFollowing = false;
const listeners = new Set();
const channel = "BroadcastChannel" in window ? new BroadcastChannel("nephos-requests") : null;

/** Calls `listener` after each change, until the signal. */
export function listen(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

const followers = [];

/** Calls `follower` with new requests and the number of those that were left out, as long as the page exists. */
export const onRequests = (follower) => followers.push(follower);

const tell = () => listeners.forEach((listener) => listener());

/** Takes an answer about the requests from a position on. False if there is a gap before it. */
function take(after, answer) {
  // The server answers a position of another ring as the first one.
  const start = after.ring === answer.ring ? after.number : 0;
  const known = next.ring === answer.ring ? next.number : 0;
  if (start > known) return false;
  const hasRestarted = next.ring !== "" && next.ring !== answer.ring;
  if (hasRestarted) Object.assign(recent, { requests: [], missed: 0, hasRestarted });
  const added = answer.requests.filter((request) => request.position >= known);
  const missed = start || hasRestarted ? answer.missed : 0;
  recent.missed += missed;
  if (isFollowing) followers.forEach((follower) => follower(added, missed));
  isFollowing = true;
  next = { ring: answer.ring, number: Math.max(known, answer.next) };
  if (!added.length && !hasRestarted) return true;
  recent.requests = recent.requests.concat(added).slice(-limit);
  tell();
  return true;
}

async function fetchNew(signal) {
  const after = next;
  const answer = await recentRequests(after, signal);
  take(after, answer);
  return { after, answer };
}

const pass = (message) => channel?.postMessage(message);

/** Polls for a while, or until the page is hidden. */
async function poll() {
  for (let count = 0; !document.hidden && count < polls; count++) {
    pass(await fetchNew());
    await sleep(interval);
  }
}

/** Reads the stream until the page is hidden. What the page has not got by then comes first. */
async function stream(signal) {
  while (!document.hidden) {
    pass(await fetchNew());
    try {
      await requestEvents(next, signal, (answer) => {
        const after = next;
        take(after, answer);
        pass({ after, answer });
      });
    } catch (error) {
      if (signal.aborted) return;
      // The server has as many streams as it takes, or it has gone: polling says which.
      if (error instanceof Problem && error.status !== 503) throw error;
      await poll();
    }
  }
}

const shown = () => new Promise((resolve) => {
  if (!document.hidden) return resolve();
  document.addEventListener("visibilitychange", () => resolve(shown()), { once: true });
});

/** Follows the server's requests as long as the page exists. */
export async function follow() {
  recent.problem = null;
  try {
    for (;;) {
      await shown();
      await fetchNew();
      // Without locks, beyond this machine without TLS, each tab polls: a browser has six connections to a server.
      if (!channel || !navigator.locks) { await poll(); continue; }
      const hidden = new AbortController();
      document.addEventListener("visibilitychange", () => hidden.abort(), { once: true });
      await navigator.locks.request("nephos-requests", { signal: hidden.signal }, () => stream(hidden.signal)).catch((error) => {
        if (error.name !== "AbortError") throw error;
      });
    }
  } catch (error) {
    recent.problem = error;
    tell();
  }
}

if (channel) {
  channel.onmessage = ({ data }) => {
    if (recent.problem || document.hidden) return;
    if (!take(data.after, data.answer)) fetchNew().catch(() => {});
  };
}
