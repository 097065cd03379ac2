// Files in fields: they are uploaded first, and what their upload answers is the field's value.

const uploadsAtOnce = 4;
const tokensPerRequest = 200;

/** @param {any} record @returns {{ record: any, fieldName: string, file: any, place: (asset: any) => void }[]} its files */
function filesOf(record) {
  return Object.entries(record.fields ?? {}).flatMap(([fieldName, field]) => {
    if (isFile(field.value)) {
      return [{ record, fieldName, file: field.value, place: (asset) => { field.value = asset; } }];
    }
    if (!Array.isArray(field.value)) return [];
    return [...field.value.entries()].filter(([, element]) => isFile(element)).map(([index, file]) => (
      { record, fieldName, file, place: (asset) => { field.value[index] = asset; } }));
  });
}

/**
 * Uploads all files of records that are about to be saved.
 * @param {Database} database @param {any[]} records @param {any} zoneID
 * @returns {Promise<Map<any, CKError>>} the records with a file that the service refused
 */
async function uploadFiles(database, records, zoneID) {
  const refused = new Map();
  let files = records.flatMap(filesOf);
  for (const { record } of files) record.recordName ??= makeRecordName();
  // The addresses of uploads are asked for one zone at a time.
  const zoneOf = ({ record }) => zoneID ?? record.zoneID;
  while (files.length > 0) {
    const zone = zoneOf(files[0]);
    const some = files.filter((file) => zoneKey(zoneOf(file)) === zoneKey(zone)).slice(0, tokensPerRequest);
    files = files.filter((file) => !some.includes(file));
    const tokens = some.map(({ record, fieldName }) => ({ recordName: record.recordName, recordType: record.recordType, fieldName }));
    const answer = await database.send("assets/upload", { zoneID: zone, tokens });
    const uploads = some.map((file, index) => ({ ...file, token: itemsOf([itemsOf(answer.tokens)[index]])[0] }));
    await Promise.all(Array.from({ length: uploadsAtOnce }, () => uploadSome(database, uploads, refused)));
  }
  return refused;
}

/** @param {any} zoneID */
const zoneKey = (zoneID) => `${zoneID?.ownerRecordName ?? ""}/${zoneID?.zoneName ?? ""}`;

/** Uploads files until none is left. @param {Database} database @param {any[]} uploads @param {Map<any, CKError>} refused */
async function uploadSome(database, uploads, refused) {
  for (let next = uploads.shift(); next; next = uploads.shift()) {
    const { record, token, file, place } = next;
    try {
      if (token.serverErrorCode) throw serverError(token);
      place((await answerOf(await database.fetch(token.url, { method: "POST", body: file }))).singleFile);
    } catch (error) {
      if (!error.isServerError) throw error;
      error.recordName = record.recordName;
      refused.set(record, error);
    }
  }
}

/** A name that no other record has. */
function makeRecordName() {
  const bytes = globalThis.crypto?.getRandomValues(new Uint8Array(16)) ?? Array.from({ length: 16 }, () => Math.random() * 256);
  const digits = Array.from(bytes, (byte) => Math.floor(byte).toString(16).padStart(2, "0")).join("").toUpperCase();
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
