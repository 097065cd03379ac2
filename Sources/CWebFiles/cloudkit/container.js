// Containers: accounts, sharing and notifications.

/** A container. Apps get it from the configured namespace. */
class Container {
  #configuration;
  #connection;
  #authentication;
  #feed;

  /** @param {any} configuration @param {any} services */
  constructor(configuration, services) {
    const session = new Session(configuration, services);
    this.#configuration = configuration;
    this.#connection = new Connection(configuration, services, session);
    this.#authentication = new Authentication(configuration, this.#connection, session, services);
    this.#feed = new NotificationFeed(this.#connection, configuration, services.logger);
    this.#authentication.whenLeft = () => this.#feed.stop();
    services.replaced.addEventListener("abort", () => this.#feed.stop());
    this.containerIdentifier = configuration.containerIdentifier;
    this.environment = configuration.environment;
    this.apnsEnvironment = configuration.apnsEnvironment;
    const database = (scope) => new Database(this.#connection, this.containerIdentifier, scope);
    this.publicCloudDatabase = database("PUBLIC");
    this.privateCloudDatabase = database("PRIVATE");
    this.sharedCloudDatabase = database("SHARED");
  }

  toString() { return `[Container: ${this.containerIdentifier}, ${this.environment}]`; }

  /** @param {string} scope of `DatabaseScope` */
  getDatabaseWithDatabaseScope(scope) {
    if (!Object.hasOwn(DatabaseScope, scope)) throw invalid("a scope is PUBLIC, PRIVATE or SHARED");
    return this[`${scope}`.toLowerCase() + "CloudDatabase"];
  }

  getConfig() { return this.#configuration.given; }

  // MARK: Accounts

  /** The address of the sign-in; null while signed in, and once it is too old. */
  get signInURL() { return this.#authentication.signInURL; }

  /** Resolves to the identity of the session, or null, and shows the button. */
  setUpAuth() { return this.#authentication.setUp(); }

  /** @param {{ redirect?: boolean }} [options] */
  signIn(options) { return this.#authentication.signIn(options); }

  signOut() { return this.#authentication.signOut(); }

  whenUserSignsIn() { return this.#authentication.whenIn(); }

  whenUserSignsOut() { return this.#authentication.whenOut(); }

  fetchCurrentUserIdentity() { return this.#connection.send("public", "users/caller"); }

  async discoverAllUserIdentities() {
    return new UserIdentitiesResponse((await this.#connection.send("public", "users/discover")).users);
  }

  /** @param {any[]} infos each with one of `emailAddress`, `phoneNumber` and `userRecordName` */
  async discoverUserIdentities(infos) {
    const lookupInfos = list(infos);
    for (const info of lookupInfos) {
      if (![info?.emailAddress, info?.phoneNumber, info?.userRecordName].some((value) => typeof value === "string")) {
        throw invalid("a user has 'emailAddress', 'phoneNumber' or 'userRecordName'");
      }
    }
    return new UserIdentitiesResponse((await this.#connection.send("public", "users/discover", { lookupInfos })).users);
  }

  /** @param {string} emailAddress */
  discoverUserIdentityWithEmailAddress(emailAddress) { return this.#discover({ emailAddress }); }

  /** @param {string} phoneNumber */
  discoverUserIdentityWithPhoneNumber(phoneNumber) { return this.#discover({ phoneNumber }); }

  /** @param {string} userRecordName */
  async discoverUserIdentityWithUserRecordName(userRecordName) {
    const response = await this.discoverUserIdentities([{ userRecordName }]);
    if (response.users.length + response.errors.length > 0) return response;
    throw new CKError("NOT_FOUND", "there is no such user");
  }

  /** Has one user, whose other keys than `lookupInfo` are there for a match alone. @param {any} lookupInfo */
  async #discover(lookupInfo) {
    const response = await this.discoverUserIdentities([lookupInfo]);
    if (response.users.length + response.errors.length === 0) response.users.push({ lookupInfo });
    return response;
  }

  // MARK: Sharing

  /** @param {any} shortGUIDs one, or an array */
  acceptShares(shortGUIDs) { return this.#recordInfos("records/accept", shortGUIDs); }

  /** @param {any} shortGUIDs one, or an array */
  fetchRecordInfos(shortGUIDs) { return this.#recordInfos("records/resolve", shortGUIDs); }

  async #recordInfos(action, shortGUIDs) {
    const shares = list(shortGUIDs);
    const guids = shares.map((share) => share?.value ?? share);
    if (!guids.every((guid) => typeof guid === "string")) throw invalid("a short GUID is a string");
    const { results } = await this.#connection.send("public", action, { shortGUIDs: shares });
    return new RecordInfosResponse(itemsOf(results).map((one, index) => ({ shortGUID: guids[index], ...one })));
  }

  // MARK: Notifications

  get isRegisteredForNotifications() { return this.#feed.isRegistered; }

  /** Resolves to this container once notifications arrive. It may be called again. */
  async registerForNotifications() {
    await this.#feed.start();
    return this;
  }

  async unregisterForNotifications() { this.#feed.stop(); }

  /** @param {(notification: any) => void} listener */
  addNotificationListener(listener) {
    if (typeof listener !== "function") throw invalid("a listener is a function");
    this.#feed.listeners.add(listener);
  }

  /** @param {(notification: any) => void} listener */
  removeNotificationListener(listener) { this.#feed.listeners.delete(listener); }
}
