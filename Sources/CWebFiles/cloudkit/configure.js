// The namespace, and its configuration.

/** @type {Container[]} */ let containers = [];
/** Ends what the containers of the former configuration do by themselves. */
let replacement = new AbortController();

/** @param {string} reason */
const misconfigured = (reason) => new CKError("CONFIGURATION_ERROR", reason);

/** @param {any} url @param {string} name @returns {string} the origin and path, without a slash at the end */
function checkedURL(url, name) {
  try { return new URL(url).href.replace(/\/+$/, ""); } catch { throw misconfigured(`'${name}' is no URL: ${url}`); }
}

/** The origin that this script was loaded from; undefined for a file. */
function scriptOrigin() {
  return scriptURL && /^https?:/.test(scriptURL) ? new URL(scriptURL).origin : undefined;
}

/** @param {any} given a container's dictionary @param {any} all the whole configuration @param {any} logger */
function containerConfiguration(given, all, logger) {
  const { containerIdentifier, environment } = given ?? {};
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(containerIdentifier ?? "")) throw misconfigured("a container needs a 'containerIdentifier'");
  if (![DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT].includes(environment)) {
    throw misconfigured(`the 'environment' of ${containerIdentifier} is 'development' or 'production'`);
  }
  const auth = given.apiTokenAuth ?? formerAuth(given, logger);
  if ((auth === undefined) === (given.serverToServerKeyAuth === undefined)) {
    throw misconfigured(`${containerIdentifier} needs 'apiTokenAuth' or 'serverToServerKeyAuth'`);
  }
  if (auth && typeof auth.apiToken !== "string") throw misconfigured(`the 'apiToken' of ${containerIdentifier} is a string`);
  const hasButtons = auth && given.auth !== false;
  return {
    given, containerIdentifier, environment, apnsEnvironment: given.apnsEnvironment ?? environment, locale: all.locale,
    apiToken: auth?.apiToken, persist: auth?.persist === true, base: baseOf(given, all),
    serverKey: given.serverToServerKeyAuth && new ServerKey(given.serverToServerKeyAuth),
    signInButton: hasButtons && { id: "apple-sign-in-button", theme: "white-with-outline", ...auth.signInButton },
    signOutButton: hasButtons && { id: "apple-sign-out-button", theme: "white-with-outline", ...auth.signOutButton },
  };
}

/** The keys of 1.x. @param {any} given @param {any} logger */
function formerAuth(given, logger) {
  if (given.apiToken === undefined) return undefined;
  logger?.warn?.("CloudKit: write 'apiTokenAuth' for 'apiToken' and 'auth'");
  return { apiToken: given.apiToken, persist: given.auth?.persist };
}

/** @param {any} given @param {any} all @returns {(scope: string) => string} the base of addresses */
function baseOf(given, all) {
  const own = given.serverURL ?? all.serverURL;
  const common = own === undefined ? scriptOrigin() : checkedURL(own, "serverURL");
  const partition = (name, other) => (given[name] === undefined ? other : checkedURL(given[name], name));
  const [shared, hidden] = [partition("publicDatabasePartition", common), partition("privateDatabasePartition", common)];
  const bases = { public: shared, private: hidden, shared: partition("sharedDatabasePartition", hidden) };
  if (Object.values(bases).includes(undefined)) {
    throw misconfigured("give the server's address in 'serverURL'");
  }
  return (scope) => bases[scope];
}

const CloudKit = {
  VERSION, BUILD_VERSION, WS_API_VERSION, CLOUDKIT_LOADED, DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT, CKError,
  DatabaseScope, QueryFilterComparator, ReferenceAction, SubscriptionType, ShareParticipantAcceptanceStatus,
  ShareParticipantPermission, ShareParticipantType, ShareRecordType, AppleIDButtonTheme, QueryNotification,
  RecordZoneNotification, Notification: CKNotification, Promise: globalThis.Promise, logToConsole: false,

  /** @param {any} configuration @returns {typeof CloudKit} throws `CONFIGURATION_ERROR` */
  configure(configuration) {
    const services = configuration?.services ?? {};
    const logger = "logger" in services ? services.logger : CloudKit.logToConsole ? console : undefined;
    if (!Array.isArray(configuration?.containers) || configuration.containers.length === 0) {
      throw misconfigured("'containers' is an array of dictionaries");
    }
    const configurations = configuration.containers.map((given) => (
      containerConfiguration(given, configuration, "logger" in services ? logger : console)));
    replacement.abort();
    replacement = new AbortController();
    containers = configurations.map((one) => new Container(one, { ...services, logger, replaced: replacement.signal }));
    if (services.Promise) CloudKit.Promise = services.Promise;
    return CloudKit;
  },

  getDefaultContainer() {
    if (containers.length === 0) throw misconfigured("call 'configure' first");
    return containers[0];
  },

  /** @param {string} identifier @returns {Container | undefined} */
  getContainer(identifier) { return containers.find((container) => container.containerIdentifier === identifier); },

  getAllContainers() { return [...containers]; },
};
