// Several operations in one request.

/** Collects operations until `commit`. A fault in an argument rejects the commit, and nothing is sent. */
class RecordsBatchBuilder {
  #database;
  #options;
  /** @type {any[]} */ #operations = [];
  /** @type {any} */ #fault = null;
  #isCommitted = false;

  /** @param {Database} database @param {any} options */
  constructor(database, options) {
    this.#database = database;
    this.#options = options;
  }

  create(records, options) { return this.#add("create", records, ["recordType"], options); }
  update(records, options) { return this.#add("update", records, ["recordName", "recordChangeTag"], options); }
  forceUpdate(records, options) { return this.#add("forceUpdate", records, ["recordName", "recordType"], options); }
  replace(records, options) { return this.#add("replace", records, ["recordName", "recordChangeTag"], options); }
  forceReplace(records, options) { return this.#add("forceReplace", records, ["recordName", "recordType"], options); }
  delete(records) { return this.#add("delete", records, ["recordName"]); }
  forceDelete(records) { return this.#add("forceDelete", records, ["recordName"]); }

  createOrUpdate(records, options) { return this.#add(saveType, records, [], options); }

  /** Sends the operations. @returns {Promise<RecordsResponse>} */
  async commit() {
    if (this.#isCommitted) throw invalid("the batch is committed");
    this.#isCommitted = true;
    if (this.#fault) throw this.#fault;
    return modifyRecords(this.#database, this.#operations, this.#options);
  }

  /** @param {any} type of the operation, or its rule for a record @param {any} records @param {string[]} keys @param {any} [options] */
  #add(type, records, keys, options) {
    try {
      for (const record of list(records)) this.#append(type.call ? type(record) : type, record, keys, options);
    } catch (error) { this.#fault ??= error; }
    return this;
  }

  #append(operationType, record, keys, options) {
    const isDeletion = /delete$/i.test(operationType);
    const sent = isDeletion ? deletion(record, this.#options) : sentRecord(record, this.#options);
    for (const key of keys) {
      if (sent[key] === undefined) throw invalid(`'${operationType}' needs the '${key}' of each record`);
    }
    const { desiredKeys } = options ?? {};
    this.#operations.push({ operationType, record: sent, ...(desiredKeys && !isDeletion && { desiredKeys }) });
  }
}

/** @param {any} record @returns {string} the operation that saves it: never one that overwrites another's change */
function saveType(record) {
  if (record?.recordChangeTag !== undefined && record.recordChangeTag !== null) {
    recordNameOf(record);
    return "update";
  }
  if (typeof record?.recordType !== "string") {
    throw invalid("a record needs 'recordType', or 'recordName' and 'recordChangeTag'");
  }
  return "create";
}

/**
 * @param {any} record a record, or its name @param {any} options of the request: with a zone there, the record's own is not sent
 * @returns {any} what identifies it
 */
function deletion(record, options) {
  const recordName = recordNameOf(record);
  if (typeof record === "string") return { recordName };
  const { recordType, recordChangeTag, zoneID } = record;
  return { recordName, recordType, recordChangeTag, zoneID: options.zoneID ? undefined : zoneIDOf(zoneID) };
}

/** @param {Database} database @param {any[]} operations @param {any} options @returns {Promise<RecordsResponse>} */
async function modifyRecords(database, operations, options) {
  const zoneID = zoneIDOf(options.zoneID);
  if (operations.length === 0) return new RecordsResponse([], options);
  const refused = await uploadFiles(database, operations.map(({ record }) => record), zoneID);
  const sent = operations.filter(({ record }) => !refused.has(record));
  // The service treats a batch in a custom zone as atomic unless told otherwise; CloudKit JS does the opposite.
  const { desiredKeys, numbersAsStrings, atomic = false } = options;
  const isUndone = refused.size > 0 && atomic;
  const { records } = sent.length === 0 || isUndone ? { records: [] } : await database.send("records/modify", {
    operations: sent, zoneID, desiredKeys: desiredKeys ?? undefined, numbersAsStrings, atomic,
  });
  if (refused.size === 0) return new RecordsResponse(records, options);
  return new RecordsResponse(operations.map(({ record }) => refused.get(record) ?? (isUndone
    ? { serverErrorCode: "ATOMIC_ERROR", reason: "a file was refused", recordName: record.recordName } : records.shift())), options);
}
