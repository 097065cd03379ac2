// Requests for a record, as programs write them.
import { databasePath } from "./api.js";

/** Text as one word of a shell. */
export const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

/** Text as a literal of Swift. */
const literal = (text) => "\"" + text.replaceAll("\\", "\\\\").replaceAll("\"", "\\\"")
  .replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, (character) => "\\u{" + character.codePointAt(0).toString(16) + "}") + "\"";

const isDefault = (zone) => zone === "_defaultZone";

function body(place) {
  return { records: [{ recordName: place.record }], ...(isDefault(place.zone) ? {} : { zoneID: { zoneName: place.zone } }) };
}

const url = (place) => location.origin + databasePath(place, "records/lookup") + "?ckAPIToken=any"
  + (place.account ? "&ckWebAuthToken=" + encodeURIComponent("dev:" + place.account) : "");

export const curl = (place) => "curl " + quoted(url(place)) + " --data-raw " + quoted(JSON.stringify(body(place)));

export function swift(place) {
  const id = isDefault(place.zone) ? "CKRecord.ID(recordName: " + literal(place.record) + ")"
    : "CKRecord.ID(\n    recordName: " + literal(place.record) + ",\n    zoneID: CKRecordZone.ID(zoneName: "
      + literal(place.zone) + "))";
  return "import CloudKit\n\nlet container = CKContainer(identifier: " + literal(place.container) + ")\nlet id = " + id
    + "\nlet record = try await container." + place.database + "CloudDatabase.record(for: id)\n";
}

export const javascript = (place) => "const answer = await fetch(" + JSON.stringify(url(place)) + ", {\n  method: \"POST\",\n  body: "
  + "JSON.stringify(" + JSON.stringify(body(place)) + "),\n});\nconst { records } = await answer.json();\n";
