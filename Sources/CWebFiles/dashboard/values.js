// Values of fields: how they are shown, and how edited.
import { file, filePath, pretty } from "./api.js";
import { h, link, number } from "./dom.js";

const longText = 2000;

const isEncryptedType = (type) => (type ?? "").startsWith("ENCRYPTED_");

/** Whether the server cannot read a field, which is then neither filtered nor edited. */
export const isEncrypted = (value) => isEncryptedType(value.type) || value.isEncrypted === true;

/** Whether a field has a file that the server cannot read. */
export const isSealed = (value) => [value.value].flat().some((asset) => asset?.nephosSeal !== undefined);

export const isEditable = (value) => !isEncrypted(value) && !/^ASSET/.test(value.type ?? "") && !/^UNKNOWN/.test(value.type ?? "");

export function typeName(value) {
  return (value.type ?? "").replace(/^ENCRYPTED_/, "encrypted ").replace("ASSETID", isSealed(value) ? "sealed ASSET" : "ASSET")
    .replace(/(\S+)_LIST$/, "LIST<$1>");
}

const bytes = (text) => Math.floor(text.replace(/[\s=]/g, "").length * 3 / 4);

function date(milliseconds) {
  const made = new Date(Number(milliseconds));
  return isNaN(made) ? milliseconds + " ms" : made.toISOString().replace("T", " ").replace("Z", " UTC");
}

function location(value) {
  const accuracy = value.horizontalAccuracy === undefined ? "" : " ± " + value.horizontalAccuracy + " m";
  return value.latitude + "°, " + value.longitude + "°" + accuracy;
}

/** The text of a single value. */
function text(type, value) {
  switch (type) {
  case "TIMESTAMP": return date(value);
  case "LOCATION": return location(value);
  case "BYTES": return number(bytes(value)) + " bytes";
  case "REFERENCE": return value.recordName;
  case "ASSETID": return (value.nephosSeal === undefined ? "file, " : "sealed file, ") + number(value.size ?? 0) + " bytes";
  default: return typeof value === "object" ? pretty(value) : String(value);
  }
}

/** One line for a table. */
export function line(value) {
  if (value === undefined || value.value === null || value.value === undefined) return "";
  if (isEncrypted(value)) return "encrypted";
  const type = (value.type ?? "").replace(/_LIST$/, "");
  return Array.isArray(value.value) ? value.value.map((one) => text(type, one)).join(", ") : text(type, value.value);
}

const pictures = [["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46]]];
const previewed = 5_000_000;

/** Shows a file as a picture or text by its bytes, whatever its name says. */
async function preview(asset, region) {
  try {
    const content = new Uint8Array(await file(filePath(asset.downloadURL, "file")));
    const picture = pictures.find(([, start]) => start.every((byte, index) => content[index] === byte));
    if (picture) {
      const url = URL.createObjectURL(new Blob([content], { type: picture[0] }));
      region.replaceChildren(h("img", { class: "preview", alt: "The file", src: url, onload: () => URL.revokeObjectURL(url) }));
      return;
    }
    const shown = new TextDecoder("utf-8", { fatal: true }).decode(content);
    region.replaceChildren(h("pre", { tabindex: "0", role: "region", "aria-label": "The file" }, shown.slice(0, 20_000)));
  } catch (error) {
    region.textContent = error instanceof TypeError ? "The file is no picture and no text." : error.message;
  }
}

function assetElement(asset, place) {
  const shown = h("div", {});
  const isShown = asset.downloadURL && asset.nephosSeal === undefined;
  return h("div", {}, text("ASSETID", asset), " ",
    isShown ? h("a", { href: filePath(asset.downloadURL, place.record + ".bin"), download: true }, "Download") : "", " ",
    isShown && asset.size <= previewed ? h("button", { type: "button", onclick: () => preview(asset, shown) }, "Preview") : "", shown);
}

function element(type, value, place) {
  if (type === "REFERENCE") {
    return h("span", {}, link({ ...place, view: "record", zone: value.zoneID?.zoneName ?? place.zone, record: value.recordName },
      value.recordName), h("span", { class: "quiet" }, value.action && value.action !== "NONE" ? " " + value.action : ""));
  }
  if (type === "ASSETID") return assetElement(value, place);
  const whole = text(type, value);
  if (whole.length <= longText) return h("span", { class: "value" }, whole);
  return h("div", {}, h("span", { class: "value" }, whole.slice(0, longText) + "…"),
    h("p", { class: "quiet" }, number(whole.length) + " characters; the raw JSON has them all."));
}

/** A field's value, with links to records that it refers to. `place` is the record's. */
export function full(value, place) {
  if (value.value === null || value.value === undefined) return h("span", { class: "quiet" }, "no value");
  if (isEncrypted(value)) {
    return h("span", { class: "quiet" }, "Encrypted: only devices of the account read it.");
  }
  const type = (value.type ?? "").replace(/_LIST$/, "");
  if (!Array.isArray(value.value)) return element(type, value.value, place);
  if (!value.value.length) return h("span", { class: "quiet" }, "empty list");
  return h("ul", { class: "plain" }, value.value.map((one) => h("li", {}, element(type, one, place))));
}

/** A value as one edits it. */
export function editable(value) {
  if (value.value === null || value.value === undefined) return "";
  if (value.type === "TIMESTAMP") {
    const made = new Date(Number(value.value));
    return isNaN(made) ? String(value.value) : made.toISOString();
  }
  return typeof value.value === "object" ? pretty(value.value) : String(value.value);
}

const forms = {
  INT64: "a whole number", DOUBLE: "a number", TIMESTAMP: "a date such as 2026-01-31T12:00:00Z", BYTES: "base64",
  LOCATION: "JSON with the numbers latitude and longitude", LOCATION_LIST: "a JSON list of locations, each with latitude and longitude",
};

/** How a value of the type is written. */
export const formOf = (type) => forms[type] ?? (type === "STRING" ? "" : "JSON");

/** The last time in milliseconds that a date of JavaScript has. */
const lastTime = 8_640_000_000_000_000n;

/**
 * The time of a date as it is shown, in UTC unless it has another zone, or in milliseconds beyond the last date; null for
 * another text.
 */
function timeOf(text) {
  if (/^\s*-?\d{16,19}\s*$/.test(text)) {
    const time = BigInt(text);
    return time > lastTime || time < -lastTime ? String(time) : null;
  }
  const parts = /^((?:\d{4}|[+-]\d{6})-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?) ?(Z|UTC|[+-]\d\d:\d\d)?)?$/.exec(text.trim());
  if (!parts) return null;
  const [, day, clock = "00:00", zone = "Z"] = parts;
  const here = new Date(day + "T" + clock + "Z");
  // A day that its month does not have reads as one of the next month.
  if (isNaN(here) || !here.toISOString().startsWith(day + "T" + clock)) return null;
  const time = Date.parse(day + "T" + clock + zone.replace("UTC", "Z"));
  return Number.isNaN(time) ? null : time;
}

/** A whole number as the server reads it, which is without a plus. */
const unsigned = (text) => text.trim().replace("+", "");

/** The type of an edited number: a whole one may be followed by a fraction, where its field takes it. */
export const editedType = (type, text) => type === "INT64" && isFraction(text) ? "DOUBLE" : type;

/** Whether a value is a place. Neither NaN nor a number beyond the largest one, which JSON has no form for, is in one. */
const isLocation = (value) => [value?.latitude, value?.longitude].every(Number.isFinite)
  && Object.values(value).every((one) => typeof one !== "number" || Number.isFinite(one));

const isFraction = (text) => /^\s*-?\d+\.\d+\s*$/.test(text);

/** The value of an edited text. Numbers stay texts, so that none is rounded. Throws what is wrong with it. */
export function edited(type, text) {
  const fail = () => { throw new Error("This is not " + (forms[type] ?? "JSON of the type " + type) + "."); };
  switch (type) {
  case "STRING": return text;
  case "INT64": return /^\s*[+-]?\d+\s*$/.test(text) ? unsigned(text) : fail();
  case "DOUBLE": return /^\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text) ? text.trim() : fail();
  case "TIMESTAMP": return timeOf(text) ?? fail();
  case "BYTES": return /^[A-Za-z0-9+/\s]*=*\s*$/.test(text) ? text.trim() : fail();
  case "INT64_LIST": {
    const list = /^\s*\[([\s\d,+-]*)\]\s*$/.exec(text) ?? fail();
    const numbers = list[1].trim() === "" ? [] : list[1].split(",").map((number) => number.trim());
    return numbers.every((number) => /^[+-]?\d+$/.test(number)) ? numbers.map(unsigned) : fail();
  }
  default: {
    let value;
    try { value = JSON.parse(text); } catch { return fail(); }
    if (type === "TIMESTAMP_LIST" && !(Array.isArray(value) && value.every(Number.isInteger))) return fail();
    const isRight = type === "LOCATION" ? value === null || isLocation(value) : type !== "LOCATION_LIST" || Array.isArray(value) && value.every(isLocation);
    return isRight ? value : fail();
  }
  }
}
