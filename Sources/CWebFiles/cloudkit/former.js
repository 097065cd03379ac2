// The names of CloudKit JS 1.x, for pages that were written for it.

Object.assign(CloudKit, { VERSION: "1.0.0" });

/** Gives a prototype a former name. @param {any} prototype @param {string} former @param {string} current */
function rename(prototype, former, current) {
  prototype[former] = function (...parameters) { return this[current](...parameters); };
}

for (const [verb, kind] of ["save", "fetch", "delete"].flatMap((verb) => ["Record", "RecordZone", "Subscription"].map((kind) => [verb, kind]))) {
  rename(Database.prototype, verb + kind, verb + kind + "s");
}
rename(Database.prototype, "lookupRecords", "fetchRecords");
rename(Container.prototype, "discoverAllContactUserInfos", "discoverAllUserIdentities");
rename(Container.prototype, "discoverUserInfoWithEmailAddress", "discoverUserIdentityWithEmailAddress");
rename(Container.prototype, "discoverUserInfoWithUserRecordName", "discoverUserIdentityWithUserRecordName");

Object.assign(Container.prototype, {
  async fetchUserInfo() {
    const { userRecordName, nameComponents = {}, lookupInfo = {} } = await this.fetchCurrentUserIdentity();
    const { givenName: firstName, familyName: lastName } = nameComponents;
    return { userRecordName, firstName, lastName, emailAddress: lookupInfo.emailAddress, isDiscoverable: firstName !== undefined };
  },
});

Object.assign(Database.prototype, {
  /** @param {any} zone @param {any} [options] */
  async fetchChangedRecords(zone, options) {
    const response = await this.fetchRecordZoneChanges({ ...options, zoneID: zoneIDOf(zone) });
    const [changes] = response.zones;
    if (response.hasErrors && changes.syncToken === options?.syncToken) throw response.errors[0];
    return Object.assign(response, changes, { isChangedRecordsResponse: true, reverse: false });
  },
});
