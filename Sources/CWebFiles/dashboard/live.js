// The recent requests of the server. One tab polls for all tabs of the browser, each second while it is visible.
import { recentRequests, sleep } from "./api.js";

const limit = 1000;
const interval = 1000;

/** The last requests, the oldest first, and how many were lost before them. */
export const recent = { requests: [], missed: 0, problem: null };

/** The number of items that failed. */
export const failures = ({ failedItems }) => Array.isArray(failedItems) ? failedItems.length : failedItems ?? 0;

export const isFailed = (request) => request.status >= 400 || failures(request) > 0;

let next = 0;
const listeners = new Set();
const channel = "BroadcastChannel" in window ? new BroadcastChannel("nephos-requests") : null;

/** Calls `listener` after each change, until the signal. */
export function listen(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

const tell = () => listeners.forEach((listener) => listener());

/** Takes an answer about the requests from a position on. False if there is a gap before it. */
function take(after, answer) {
  if (after > next) return false;
  const hasRestarted = answer.next < after;
  if (hasRestarted) Object.assign(recent, { requests: [], missed: 0 });
  const added = hasRestarted ? answer.requests : answer.requests.filter((request) => request.position >= next);
  if (after) recent.missed += answer.missed;
  next = hasRestarted ? answer.next : Math.max(next, answer.next);
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

/** Polls until the page is hidden. */
async function poll() {
  while (!document.hidden) {
    const message = await fetchNew();
    channel?.postMessage(message);
    await sleep(interval);
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
      // Without locks, beyond this machine without TLS, each tab polls.
      if (!channel || !navigator.locks) { await poll(); continue; }
      const hidden = new AbortController();
      document.addEventListener("visibilitychange", () => hidden.abort(), { once: true });
      await navigator.locks.request("nephos-requests", { signal: hidden.signal }, poll).catch((error) => {
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
