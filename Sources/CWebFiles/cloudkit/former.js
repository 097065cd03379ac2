// The names of CloudKit JS 1.x, for pages that were written for it.

Object.assign(CloudKit, { VERSION: "1.0.0" });

/**
 * Gives a method a former name, and its result a former form.
 * @param {any} prototype @param {string} former @param {string} current @param {(result: any) => any} [convert]
 */
function rename(prototype, former, current, convert = (result) => result) {
  const method = prototype[current];
  prototype[former] = async function (...parameters) { return convert(await method.apply(this, parameters)); };
}

/** Adds the former keys of a user. @param {any} user null for nobody */
function userInfo(user) {
  const { givenName: firstName, familyName: lastName } = user?.nameComponents ?? {};
  return user && { ...user, firstName, lastName, emailAddress: user.lookupInfo?.emailAddress, isDiscoverable: firstName !== undefined };
}

for (const verb of ["save", "fetch", "delete"]) {
  for (const kind of ["Record", "RecordZone", "Subscription"]) rename(Database.prototype, verb + kind, verb + kind + "s");
}
rename(Database.prototype, "lookupRecords", "fetchRecords");
rename(Container.prototype, "fetchUserInfo", "fetchCurrentUserIdentity", userInfo);
for (const name of ["setUpAuth", "whenUserSignsIn"]) rename(Container.prototype, name, name, userInfo);
/** @param {any} response with identities */
const userInfos = (response) => Object.assign(response, { isUserInfosResponse: true, users: response.users.map(userInfo) });

rename(Container.prototype, "discoverAllContactUserInfos", "discoverAllUserIdentities", userInfos);
rename(Container.prototype, "discoverUserInfoWithEmailAddress", "discoverUserIdentityWithEmailAddress", userInfos);
rename(Container.prototype, "discoverUserInfoWithUserRecordName", "discoverUserIdentityWithUserRecordName", userInfos);

Object.assign(Database.prototype, {
  /** @param {any} zone @param {any} [options] */
  async fetchChangedRecords(zone, options) {
    const response = await this.fetchRecordZoneChanges({ ...options, zoneID: zoneIDOf(zone) });
    const [changes] = response.zones;
    if (response.hasErrors && changes.syncToken === options?.syncToken) throw response.errors[0];
    return Object.assign(response, changes, { isChangedRecordsResponse: true, reverse: false });
  },
});
