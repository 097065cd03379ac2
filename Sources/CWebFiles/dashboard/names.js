// The names with which people sign in to a production server, whose stores and requests have the IDs of their accounts.
import { installation, isProduction } from "./api.js";

const names = new Map();
/** How many milliseconds the names are good, and how many are kept. */
const lifetime = 10000, most = 10000;
let due = 0;

/** Fetches the names for a caller who may see them. */
export async function fetchNames(may, signal) {
  if (!isProduction() || !may.viewInstallation || Date.now() < due) return;
  due = Date.now() + lifetime;
  for (let after = ""; names.size < most;) {
    const { accounts } = await installation("accounts/list", { after }, signal);
    for (const { id, name } of accounts) names.set(id, name);
    if (!accounts.length || accounts.at(-1).name === after) return;
    after = accounts.at(-1).name;
  }
}

/** The name of an account; its ID if the name is not known. */
export const signInName = (account) => names.get(account) ?? account;

/** A text of the server with names in place of IDs. */
export const named = (text) => text.replace(/\bid:[0-9a-f]{32}\b/g, signInName);
