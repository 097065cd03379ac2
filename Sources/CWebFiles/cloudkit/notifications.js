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

/**
 * Asks for the notifications of one container, one request after the other. A browser holds few requests of all tabs to a
 * server: of the tabs of an app with the same account, one holds a request, and calls the others when there is something.
 */
class NotificationFeed {
  #connection;
  #configuration;
  #logger;
  /** @type {Set<(notification: any) => void>} */ listeners = new Set();
  /** @type {AbortController | null} */ #running = null;
  /** @type {Promise<void> | null} */ #starting = null;
  /** @type {boolean | undefined} */ #isResuming = false;
  isRegistered = false;

  /** @param {Connection} connection @param {any} configuration @param {any} logger */
  constructor(connection, configuration, logger) {
    this.#connection = connection;
    this.#configuration = configuration;
    this.#logger = logger;
  }

  /** @param {boolean} [isResumed] whether what hinders may pass, as without a network: not where the app waits */
  start(isResumed) {
    if (!isResumed && this.#isResuming) this.stop();
    this.#isResuming ||= isResumed && !this.#starting;
    return (this.#starting ??= this.#start(isResumed));
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
    this.#starting = null;
    this.isRegistered = this.#isResuming = false;
  }

  /** @param {boolean} [isResumed] */
  async #start(isResumed) {
    this.#running?.abort();
    // It is there before anything is awaited: a stop ends the start as well.
    const { signal } = (this.#running = new AbortController());
    /** @returns {Promise<any[]>} */
    const ask = async () => [await this.#makeToken(this.#connection.clientID ??= makeRecordName()), await this.#sharedName()];
    try {
      const [token, name] = await (isResumed ? this.#retry(signal, ask) : ask()) ?? [];
      if (signal.aborted) return;
      this.isRegistered = true;
      this.#isResuming = false;
      if (name) this.#share(name, token, signal);
      else this.#pollWhileShown(token, signal);
      // A page in the back/forward cache would keep the lock, and is frozen.
      if (name) addEventListener("pagehide", () => {
        this.stop();
        this.#running = new AbortController();
        addEventListener("pageshow", () => this.start(true), { once: true, signal: this.#running.signal });
      }, { signal });
    } catch (error) {
      if (!signal.aborted) this.stop();
      throw error;
    }
  }

  /** @param {string} clientId whose changes the token does not hear of */
  async #makeToken(clientId) {
    const body = { apnsEnvironment: this.#configuration.apnsEnvironment, clientId };
    return { url: (await this.#connection.sendDevice("tokens/create", body)).webcourierURL, received: "none" };
  }

  /** The name under which tabs share; null where they cannot, as in Node, and in pages without TLS that are not of this machine. */
  async #sharedName() {
    if (typeof document !== "object" || !navigator.locks) return null;
    const { containerIdentifier, environment } = this.#configuration;
    const { userRecordName } = await this.#connection.send("public", "users/caller");
    return `cloudkit:${this.#connection.base}:${containerIdentifier}:${environment}:${userRecordName}`;
  }

  /** Each tab has a token, as none hears of its own changes; one more, which hears of all, is for the tab that waits. */
  #share(name, token, signal) {
    const channel = new BroadcastChannel(name);
    signal.addEventListener("abort", () => channel.close());
    let [looking, isCalled] = [Promise.resolve(), false];
    const look = () => {
      if (isCalled) return;
      isCalled = true;
      looking = looking.then(() => {
        isCalled = false;
        return this.#poll(token, signal, false);
      });
    };
    const call = () => {
      if (signal.aborted) return;
      channel.postMessage(null);
      look();
    };
    channel.onmessage = look;
    // After the back/forward cache, notifications may be queued.
    look();
    navigator.locks.request(name, { signal }, async () => {
      const common = await this.#retry(signal, () => this.#makeToken(commonClient(name)));
      call();
      if (common) await this.#poll(common, signal, true, call);
    }).catch((error) => { if (!signal.aborted) this.#logger?.warn?.(String(error)); });
  }

  /** Without locks each tab waits for itself, while it is seen. @param {any} token @param {AbortSignal} signal */
  #pollWhileShown(token, signal) {
    let shown = new AbortController();
    const check = () => {
      shown.abort();
      if (signal.aborted || globalThis.document?.hidden) return;
      shown = new AbortController();
      this.#poll(token, shown.signal, true);
    };
    globalThis.document?.addEventListener("visibilitychange", check, { signal });
    signal.addEventListener("abort", check);
    check();
  }

  /**
   * Asks until the signal, or, where the service does not hold the requests, until there is nothing.
   * @param {any} token @param {AbortSignal} signal @param {boolean} isHeld @param {(notification: any) => void} [take]
   */
  async #poll(token, signal, isHeld, take = (notification) => this.#pass(notification)) {
    while (!signal.aborted) {
      const payload = await this.#retry(signal, async () => {
        const mark = token.url.includes("?") ? "&" : "?";
        const url = `${token.url}${mark}nephosReceived=${token.received}${isHeld ? "" : "&nephosWait=0"}`;
        return answerOf(await this.#connection.fetch(url, { signal }));
      });
      if (!payload || signal.aborted) return;
      const notification = notificationOf(payload);
      token.received = notification?.notificationID ?? "none";
      if (notification) take(notification);
      else if (!isHeld) return;
    }
  }

  /** @param {AbortSignal} signal @param {() => Promise<any>} task @returns {Promise<any>} its value; nothing once the signal is given */
  async #retry(signal, task) {
    for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 30_000)) {
      try { return await task(); } catch (error) {
        if (signal.aborted) return undefined;
        // The token is over, with its session or by itself; what else failed may pass.
        if (pollEnds.includes(error.serverErrorCode)) {
          this.stop();
          this.#logger?.warn?.(`CloudKit: notifications end: ${error}`);
        } else await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 0) * 1000 || wait));
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

/** The client of a browser's common token, so that the next tab that waits goes on with it. @param {string} name */
function commonClient(name) {
  const place = storage("localStorage");
  const client = place?.getItem(name) ?? makeRecordName();
  // Then the next tab has a token of its own.
  try { place?.setItem(name, client); } catch {}
  return client;
}
