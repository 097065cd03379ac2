// Notifications: a request that the service holds until there is one.

const pollEnds = ["ACCESS_DENIED", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED", "BAD_REQUEST", "NOT_FOUND"];
const queryReasons = ["CREATED", "UPDATED", "DELETED"].map((reason) => `QUERY_NOTIFICATION_REASON_RECORD_${reason}`);

/** A notification of a subscription to a database; the base of the others. */
class CKNotification {
  static NOTIFICATION_TYPE_QUERY = "NOTIFICATION_TYPE_QUERY";
  static NOTIFICATION_TYPE_RECORD_ZONE = "NOTIFICATION_TYPE_RECORD_ZONE";
  static QUERY_NOTIFICATION_REASON_RECORD_CREATED = queryReasons[0];
  static QUERY_NOTIFICATION_REASON_RECORD_UPDATED = queryReasons[1];
  static QUERY_NOTIFICATION_REASON_RECORD_DELETED = queryReasons[2];

  /** @param {any} payload @param {any} about the part about the subscription */
  constructor(payload, about) {
    const { aps = {}, ck = {} } = payload;
    const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert ?? {};
    this.notificationID = ck.nid;
    /** @type {string | undefined} */ this.notificationType = undefined;
    this.containerIdentifier = ck.cid;
    this.subscriptionID = about.sid;
    this.zoneID = about.zid === undefined ? undefined : zoneIDOf({ zoneName: about.zid, ownerRecordName: about.zoid });
    this.isQueryNotification = false;
    this.isRecordZoneNotification = false;
    this.alertBody = alert.body;
    this.alertLocalizationKey = alert["loc-key"];
    this.alertLocalizationArgs = alert["loc-args"];
    this.alertActionLocalizationKey = alert["action-loc-key"];
    this.alertLaunchImage = alert["launch-image"];
    this.soundName = aps.sound;
    this.badge = aps.badge;
    this.category = aps.category;
  }
}

class QueryNotification extends CKNotification {
  /** @param {any} payload */
  constructor(payload) {
    const about = payload.ck.qry;
    super(payload, about);
    this.notificationType = CKNotification.NOTIFICATION_TYPE_QUERY;
    this.isQueryNotification = true;
    this.queryNotificationReason = queryReasons[about.fo - 1];
    this.recordName = about.rid;
    this.recordFields = about.af ?? {};
    this.isPublicDatabase = about.dbs === 0;
  }
}

class RecordZoneNotification extends CKNotification {
  /** @param {any} payload */
  constructor(payload) {
    super(payload, payload.ck.fet);
    this.notificationType = CKNotification.NOTIFICATION_TYPE_RECORD_ZONE;
    this.isRecordZoneNotification = true;
  }
}

/** @param {any} payload @returns {CKNotification | null} null for an answer without one */
function notificationOf(payload) {
  if (payload.ck?.qry) return new QueryNotification(payload);
  if (payload.ck?.fet) return new RecordZoneNotification(payload);
  return payload.ck ? new CKNotification(payload, payload.ck.met ?? {}) : null;
}

/** Asks for the notifications of one container, one request after the other. */
class NotificationFeed {
  #connection;
  #configuration;
  #logger;
  /** @type {Set<(notification: any) => void>} */ listeners = new Set();
  /** @type {AbortController | null} */ #running = null;
  /** @type {Promise<void> | null} */ #starting = null;

  /** @param {Connection} connection @param {any} configuration @param {any} logger */
  constructor(connection, configuration, logger) {
    this.#connection = connection;
    this.#configuration = configuration;
    this.#logger = logger;
  }

  get isRegistered() { return this.#running !== null; }

  start() { return (this.#starting ??= this.#start().catch((error) => { this.stop(); throw error; })); }

  stop() {
    this.#running?.abort();
    this.#running = null;
    this.#starting = null;
  }

  async #start() {
    this.#connection.clientID ??= makeRecordName();
    const body = { apnsEnvironment: this.#configuration.apnsEnvironment, clientId: this.#connection.clientID };
    const { webcourierURL } = await this.#connection.sendDevice("tokens/create", body);
    this.#running = new AbortController();
    this.#poll(webcourierURL, this.#running.signal);
  }

  /** @param {string} url @param {AbortSignal} signal */
  async #poll(url, signal) {
    let received = "none";
    for (let wait = 500; !signal.aborted;) {
      try {
        const mark = url.includes("?") ? "&" : "?";
        const payload = await answerOf(await this.#connection.fetch(`${url}${mark}nephosReceived=${received}`, { signal }));
        const notification = notificationOf(payload);
        received = notification?.notificationID ?? "none";
        if (notification && !signal.aborted) this.#pass(notification);
        wait = 500;
      } catch (error) {
        // The token is over, with its session or by itself; what else failed may pass.
        if (pollEnds.includes(error.serverErrorCode)) {
          this.stop();
          this.#logger?.warn?.(`CloudKit: notifications end: ${error}`);
        }
        if (signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 0) * 1000 || wait));
        wait = Math.min(wait * 2, 30_000);
      }
    }
  }

  /** @param {CKNotification} notification */
  #pass(notification) {
    for (const listener of [...this.listeners]) {
      try { listener(notification); } catch (error) { this.#logger?.error?.(error); }
    }
  }
}
