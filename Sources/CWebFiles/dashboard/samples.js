// Requests for a record, as programs write them.
import { databasePath, isProduction } from "./api.js";

/** Text as one word of a shell. */
export const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

/** Text as a literal of Swift. */
const literal = (text) => "\"" + text.replaceAll("\\", "\\\\").replaceAll("\"", "\\\"")
  .replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, (character) => "\\u{" + character.codePointAt(0).toString(16) + "}") + "\"";

const isDefault = (zone) => zone === "_defaultZone";

function body(place) {
  return { records: [{ recordName: place.record }], ...(isDefault(place.zone) ? {} : { zoneID: { zoneName: place.zone } }) };
}

/** The query that signs in to a development server. */
const query = (account) => "?ckAPIToken=any" + (account ? "&ckWebAuthToken=" + encodeURIComponent("dev:" + account) : "");

/** An address and what signs in, as words of a shell: on a production server tokens that its reader has. */
export const signed = (url, account) => !isProduction() ? quoted(url + query(account))
  : "\"" + url + "?ckAPIToken=$NEPHOS_API_TOKEN\"" + (account ? " -H \"Authorization: Bearer $NEPHOS_TOKEN\"" : "");

const url = (place) => location.origin + databasePath(place, "records/lookup");

export const curl = (place) => "curl " + signed(url(place), place.account) + " --data-raw " + quoted(JSON.stringify(body(place)));

export function swift(place) {
  const id = isDefault(place.zone) ? "CKRecord.ID(recordName: " + literal(place.record) + ")"
    : "CKRecord.ID(\n    recordName: " + literal(place.record) + ",\n    zoneID: CKRecordZone.ID(zoneName: "
      + literal(place.zone) + "))";
  return "import CloudKit\n\nlet container = CKContainer(identifier: " + literal(place.container) + ")\nlet id = " + id
    + "\nlet record = try await container." + place.database + "CloudDatabase.record(for: id)\n";
}

export const javascript = (place) => "const answer = await fetch(" + JSON.stringify(url(place) + (isProduction() ? "?ckAPIToken=…" : query(place.account))) + ", {\n  method: \"POST\","
  + (isProduction() && place.account ? "\n  headers: { Authorization: \"Bearer …\" }," : "") + "\n  body: "
  + "JSON.stringify(" + JSON.stringify(body(place)) + "),\n});\nconst { records } = await answer.json();\n";
