// Records, fields and zones: from the forms that apps use to those of the service, and back.

/** @param {any} value */
const list = (value) => (Array.isArray(value) ? value : [value]);

/** @param {any} value */
const isDictionary = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date) && !isFile(value);

/** @param {any} value whether it is the content of a file, which is uploaded */
const isFile = (value) =>
  value instanceof Blob || value instanceof ArrayBuffer || ArrayBuffer.isView(value);

/** @param {string} name of a field @param {any} field */
const isBytes = (name, field) => field.isEncrypted === true || /BYTES/.test(field.type ?? "");

/** @param {any} value the name of a zone, its ID, or a dictionary that has one; nothing for the default zone */
function zoneIDOf(value) {
  if (value === undefined || value === null) return undefined;
  const zoneID = typeof value === "string" ? { zoneName: value } : value.zoneID ?? value;
  if (typeof zoneID === "string") return { zoneName: zoneID };
  if (!isDictionary(zoneID) || typeof zoneID.zoneName !== "string" || zoneID.zoneName === "") {
    throw invalid("a zone is its name or a dictionary with 'zoneName'");
  }
  const { zoneName, ownerRecordName } = zoneID;
  return ownerRecordName === undefined ? { zoneName } : { zoneName, ownerRecordName };
}

/**
 * @param {string} name of the field
 * @param {any} field
 * @returns {any} the field for the service; files stay, and are replaced by what their upload answers
 */
function sentField(name, field) {
  if (field === null) return { value: null };
  if (!isDictionary(field) || !("value" in field)) {
    throw invalid(`the field '${name}' is no dictionary with 'value'`);
  }
  const value = Array.isArray(field.value)
    ? field.value.map((element) => sentValue(name, field, isDictionary(element) && "value" in element ? element.value : element))
    : sentValue(name, field, field.value);
  return { ...field, value, type: field.type === "BOOLEAN" ? "INT64" : field.type ?? typeOf(field.value) };
}

/** The type of a value whose JSON is another's; nothing for others. @param {any} value @returns {string | undefined} */
function typeOf(value) {
  if (Array.isArray(value)) {
    const type = value.map((element) => typeOf(isDictionary(element) && "value" in element ? element.value : element)).find(Boolean);
    return type && type + "_LIST";
  }
  return value instanceof Date ? "TIMESTAMP" : typeof value === "bigint" ? "INT64" : undefined;
}

/** @param {string} name @param {any} field @param {any} value of the field, or an element of its list */
function sentValue(name, field, value) {
  if (value instanceof Date) return sentNumber(name, value.getTime());
  switch (typeof value) {
    case "boolean": case "number": return sentNumber(name, Number(value));
    case "bigint": return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "function": case "symbol": throw invalid(`the field '${name}' has a value that no record holds`);
    default:
      if (value?.timestamp instanceof Date) return { ...value, timestamp: sentValue(name, field, value.timestamp) };
      return isFile(value) && isBytes(name, field) ? base64(value) : value;
  }
}

/** @param {string} name @param {number} number */
function sentNumber(name, number) {
  if (!Number.isFinite(number)) throw invalid(`the field '${name}' has the value ${number}`);
  return number;
}

/** @param {any} bytes an ArrayBuffer or a view of one */
function base64(bytes) {
  if (bytes.byteLength === undefined) throw invalid("bytes are base64, a Uint8Array or an ArrayBuffer");
  const view = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset, bytes.byteLength);
  return btoa(Array.from(view, (byte) => String.fromCharCode(byte)).join(""));
}

// The server sets these; a record that was fetched and is saved again has them.
const serverKeys = ["created", "modified", "deleted", "pluginFields", "share", "shortGUID", "currentUserParticipant", "owner"];

// Wrappers set these always, to null where there is none. Elsewhere null clears, as in `parent: null`.
const nameKeys = ["recordName", "recordType", "recordChangeTag"];

/** @param {any} record @param {any} options of the request: with a zone there, the records' own is not sent */
function sentRecord(record, options) {
  if (!isDictionary(record)) throw invalid("a record is a dictionary with 'recordType' or 'recordName'");
  const sent = Object.fromEntries(Object.entries(record).filter(([key, value]) =>
    !serverKeys.includes(key) && value !== undefined && !(value === null && nameKeys.includes(key))));
  for (const key of nameKeys) {
    if (key in sent && typeof sent[key] !== "string") throw invalid(`the '${key}' of a record is a string`);
  }
  sent.zoneID = options.zoneID ? undefined : zoneIDOf(sent.zoneID);
  if (sent.fields === undefined || sent.fields === null) return sent;
  if (!isDictionary(sent.fields)) throw invalid("the 'fields' of a record are a dictionary");
  // A field whose value is undefined, as of a file input that was left empty, is not touched.
  const fields = Object.entries(sent.fields).filter(([, field]) =>
    field !== undefined && !(isDictionary(field) && ("value" in field || "type" in field) && field.value === undefined));
  return { ...sent, fields: Object.fromEntries(fields.map(([name, field]) => [name, sentField(name, field)])) };
}

/**
 * Encrypted values are bytes, which the browser cannot read.
 * @param {any} item a record or an error of the service @param {any} [zoneID] of the request: records have it in others' zones, and
 * in 1.x always
 */
function receivedRecord(item, zoneID) {
  if (zoneID && (zoneID.ownerRecordName || CloudKit.VERSION < "2")) item.zoneID ??= zoneID;
  for (const field of itemsOf(Object.values(item.fields ?? {}))) {
    if (field.type?.startsWith("ENCRYPTED_")) field.isEncrypted = true;
  }
  return item;
}

/** @param {any} value a dictionary, or the name itself @param {string} key of the name */
function nameOf(value, key) {
  const name = typeof value === "string" ? value : value?.[key];
  if (typeof name !== "string" || name === "") throw invalid(`there is no '${key}'`);
  return name;
}

/** @param {any} record a record, or its name */
const recordNameOf = (record) => nameOf(record, "recordName");
