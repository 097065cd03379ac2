// What promises resolve to. Items that failed are in `errors`, all others in the array of their kind.

/** A response to a request. */
class CKResponse {
  /** @param {CKError[]} errors one for each item that failed */
  constructor(errors) {
    this.isResponse = true;
    this.errors = errors;
    this.hasErrors = errors.length > 0;
  }

  toString() { return `[${this.constructor.name}: ${JSON.stringify(this)}]`; }
}

class RecordsResponse extends CKResponse {
  /** @param {any[]} items @param {any} options */
  constructor(items, options) {
    const { values, errors } = separated(itemsOf(items).map((item) => receivedRecord(item, zoneIDOf(options.zoneID))));
    super(errors);
    this.isRecordsResponse = true;
    this.records = values;
    this.numbersAsStrings = options.numbersAsStrings ?? false;
  }
}

/** A page of a query: the first argument of the next `performQuery`. */
class QueryResponse extends RecordsResponse {
  /** @param {any} answer @param {any} request */
  constructor(answer, request) {
    super(answer.records, request);
    this.isQueryResponse = true;
    this.query = request.query;
    this.zoneID = request.zoneID ?? { zoneName: "_defaultZone" };
    this.zoneWide = request.zoneWide ?? false;
    this.desiredKeys = request.desiredKeys ?? null;
    this.resultsLimit = request.resultsLimit;
    /** @type {string | null} */ this.continuationMarker = answer.continuationMarker ?? null;
    this.moreComing = this.continuationMarker !== null;
  }
}

class RecordZonesResponse extends CKResponse {
  /** @param {any[]} items */
  constructor(items) {
    const { values, errors } = separated(items);
    super(errors);
    this.isRecordZonesResponse = true;
    this.zones = values;
  }
}

class DatabaseChangesResponse extends CKResponse {
  /** @param {any} answer @param {any} options */
  constructor(answer, options) {
    const { values, errors } = separated(answer.zones);
    super(errors);
    this.isDatabaseChangesResponse = true;
    this.zones = values;
    this.syncToken = answer.syncToken;
    this.moreComing = answer.moreComing ?? false;
    this.resultsLimit = options.resultsLimit;
  }
}

/** Zones in the order of the request. A zone that failed has its error in its own `errors`, too. */
class RecordZoneChangesResponse extends CKResponse {
  /** @param {any[]} zones @param {any[]} requests */
  constructor(zones, requests) {
    const results = itemsOf(zones).map((zone, index) => zoneChanges(zone, requests[index] ?? {}));
    super(results.flatMap((zone) => zone.errors));
    this.isRecordZoneChangesResponse = true;
    this.zones = results;
  }
}

/** @param {any} zone @param {any} request */
function zoneChanges(zone, request) {
  const failed = zone.serverErrorCode !== undefined;
  const { values, errors } = separated(itemsOf(zone.records ?? []).map((record) => receivedRecord(record, request.zoneID)));
  return {
    zoneID: zone.zoneID ?? request.zoneID, records: values, syncToken: failed ? request.syncToken : zone.syncToken,
    moreComing: zone.moreComing ?? false, errors: failed ? [serverError(zone)] : errors,
    desiredKeys: request.desiredKeys, desiredRecordTypes: request.desiredRecordTypes, resultsLimit: request.resultsLimit,
  };
}

class SubscriptionsResponse extends CKResponse {
  /** @param {any[]} items */
  constructor(items) {
    const { values, errors } = separated(items);
    super(errors);
    this.isSubscriptionsResponse = true;
    this.subscriptions = values;
  }
}

class UserIdentitiesResponse extends CKResponse {
  /** @param {any[]} items */
  constructor(items) {
    const { values, errors } = separated(items);
    super(errors);
    this.isUserIdentitiesResponse = true;
    this.users = values;
  }
}

class RecordInfosResponse extends CKResponse {
  /** @param {any[]} items */
  constructor(items) {
    const { values, errors } = separated(items);
    super(errors);
    this.isRecordInfosResponse = true;
    this.results = values;
    for (const { rootRecord = {}, share = {} } of values) itemsOf([rootRecord, share]).forEach((record) => receivedRecord(record));
  }
}

/** @param {any} items of an answer, which may be another program's @returns {any[]} */
function itemsOf(items) {
  if (Array.isArray(items) && items.every(isDictionary)) return items;
  throw new CKError("UNEXPECTED_SERVER_RESPONSE", "no list");
}

/** @param {any[]} items @returns {{ values: any[], errors: CKError[] }} */
function separated(items) {
  const failed = (item) => item.serverErrorCode !== undefined;
  return { values: itemsOf(items).filter((item) => !failed(item)), errors: items.filter(failed).map(serverError) };
}
