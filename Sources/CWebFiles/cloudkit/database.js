// Databases: records, zones, changes and subscriptions.

/** A database of a container. Apps get it from the container. */
class Database {
  #connection;

  /** @param {Connection} connection @param {string} containerIdentifier @param {string} databaseScope */
  constructor(connection, containerIdentifier, databaseScope) {
    this.#connection = connection;
    this.containerIdentifier = containerIdentifier;
    this.databaseScope = databaseScope;
  }

  toString() { return `[Database: ${this.containerIdentifier}, ${this.databaseScope}]`; }

  // MARK: Records

  /** @param {any} records one, or an array @param {any} [options] */
  async saveRecords(records, options) {
    const { zoneID, desiredKeys, numbersAsStrings } = options ?? {};
    const operations = list(records).map((record) => (
      { operationType: saveType(record), record: sentRecord(record, { zoneID }) }));
    return modifyRecords(this, operations, { zoneID, desiredKeys, numbersAsStrings });
  }

  /** @param {any} records names or records, one or an array @param {any} [options] */
  async fetchRecords(records, options) {
    const { zoneID, desiredKeys, numbersAsStrings } = options ?? {};
    const items = list(records).map((record) => ({
      recordName: recordNameOf(record), ...(!zoneID && record.zoneID && { zoneID: zoneIDOf(record.zoneID) }),
    }));
    if (items.length === 0) return new RecordsResponse([], options ?? {});
    const answer = await this.send("records/lookup", {
      records: items, zoneID: zoneIDOf(zoneID), desiredKeys: desiredKeys ?? undefined, numbersAsStrings,
    });
    return new RecordsResponse(answer.records, options ?? {});
  }

  /** Deletes records whatever their change tags. @param {any} records names or records, one or an array @param {any} [options] */
  async deleteRecords(records, options) {
    const operations = list(records).map((record) => ({
      operationType: "forceDelete", record: { ...deletion(record, options ?? {}), recordChangeTag: undefined },
    }));
    return modifyRecords(this, operations, { zoneID: options?.zoneID });
  }

  /** @param {any} query a query, or the response with its previous page @param {any} [options] */
  async performQuery(query, options) {
    const request = queryRequest(query, options ?? {});
    return new QueryResponse(await this.send("records/query", request), request);
  }

  /** @param {any} [options] */
  newRecordsBatch(options) { return new RecordsBatchBuilder(this, options ?? {}); }

  // MARK: Zones

  /** @param {any} zones names, IDs or zones, one or an array */
  async saveRecordZones(zones) { return this.#modifyZones("create", zones); }

  /** @param {any} zones names, IDs or zones, one or an array */
  async deleteRecordZones(zones) { return this.#modifyZones("delete", zones); }

  /** @param {any} zones names, IDs or zones, one or an array */
  async fetchRecordZones(zones) {
    const answer = await this.send("zones/lookup", { zones: zoneIDsOf(zones) });
    return new RecordZonesResponse(answer.zones);
  }

  async fetchAllRecordZones() { return new RecordZonesResponse((await this.send("zones/list")).zones); }

  async #modifyZones(operationType, zones) {
    const operations = zoneIDsOf(zones).map((zoneID) => ({ operationType, zone: { zoneID } }));
    const answer = await this.send("zones/modify", { operations });
    return new RecordZonesResponse(answer.zones);
  }

  // MARK: Changes

  /** @param {any} [options] */
  async fetchDatabaseChanges(options) {
    const { syncToken, resultsLimit } = options ?? {};
    const answer = await this.send("changes/database", { syncToken: syncToken ?? undefined, resultsLimit });
    return new DatabaseChangesResponse(answer, { resultsLimit });
  }

  /** @param {any} options a dictionary with `zoneID`, or an array of them */
  async fetchRecordZoneChanges(options) {
    const zones = list(options).map((zone) => {
      const zoneID = zoneIDOf(zone);
      if (!zoneID) throw invalid("changes need a 'zoneID'");
      const { syncToken, desiredKeys, desiredRecordTypes, resultsLimit, numbersAsStrings } = zone;
      return { zoneID, syncToken: syncToken ?? undefined, desiredKeys, desiredRecordTypes, resultsLimit, numbersAsStrings };
    });
    const answer = await this.send("changes/zone", { zones });
    return new RecordZoneChangesResponse(answer.zones, zones);
  }

  // MARK: Subscriptions

  /** @param {any} subscriptions one, or an array */
  async saveSubscriptions(subscriptions) {
    // A creation leaves the subscription that has the ID already as it is; an update replaces it, or creates it.
    const operations = list(subscriptions).map((subscription) => (
      { operationType: subscription?.subscriptionID ? "update" : "create", subscription: sentSubscription(subscription) }));
    return new SubscriptionsResponse((await this.send("subscriptions/modify", { operations })).subscriptions);
  }

  /** @param {any} subscriptions IDs or subscriptions, one or an array */
  async fetchSubscriptions(subscriptions) {
    const answer = await this.send("subscriptions/lookup", { subscriptions: subscriptionIDsOf(subscriptions) });
    return new SubscriptionsResponse(answer.subscriptions);
  }

  /** @param {any} subscriptions IDs or subscriptions, one or an array */
  async deleteSubscriptions(subscriptions) {
    const operations = subscriptionIDsOf(subscriptions).map((subscription) => ({ operationType: "delete", subscription }));
    return new SubscriptionsResponse((await this.send("subscriptions/modify", { operations })).subscriptions);
  }

  async fetchAllSubscriptions() {
    return new SubscriptionsResponse((await this.send("subscriptions/list")).subscriptions);
  }

  // MARK: Sharing

  /** @param {any} [options] */
  async shareWithUI(options) {
    if (!options?.record || !zoneIDOf(options.zoneID)) throw invalid("shareWithUI needs 'record' and 'zoneID'");
    if (typeof document !== "object" || typeof HTMLDialogElement !== "function") {
      throw new CKError("SHARE_UI_TIMEOUT", "no sheet here: save with 'forRecord'");
    }
    const ShareSheet = await shareSheet(this.#connection.base);
    return new ShareSheet(this, options, ShareRecordType).run();
  }

  // MARK: Requests

  /** @internal @param {string} action @param {any} [body] @returns {Promise<any>} */
  send(action, body) { return this.#connection.send(this.databaseScope.toLowerCase(), action, body); }

  /** @internal @param {string} shortGUID */
  shareURL(shortGUID) { return this.#connection.shareURL(shortGUID); }

  /** @internal @param {string} url @param {any} request @returns {Promise<any>} */
  fetch(url, request) { return this.#connection.fetch(url, request); }
}

/** @param {any} zones */
function zoneIDsOf(zones) {
  return list(zones).map((zone) => zoneIDOf(zone) ?? zoneIDOf({ zoneName: "" }));
}

/** @param {any} subscription */
function sentSubscription(subscription) {
  if (!isDictionary(subscription) || typeof subscription.subscriptionType !== "string") {
    throw invalid("a subscription is a dictionary with 'subscriptionType'");
  }
  const { query, zoneID } = subscription;
  return { ...subscription, ...(query && { query: sentQuery(query) }), zoneID: zoneIDOf(zoneID) };
}

/** @param {any} subscriptions */
function subscriptionIDsOf(subscriptions) {
  return list(subscriptions).map((subscription) => ({ subscriptionID: nameOf(subscription, "subscriptionID") }));
}
