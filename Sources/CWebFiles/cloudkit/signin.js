// Signing in and out: the stored session, the window of the sign-in, its redirect form, and other tabs.

// The time in milliseconds for which a page at `redirectURL` is opened as it is; the service answers a little longer.
const signInURLLifetime = 15 * 60_000;
const returningKey = "cloudkit:returning";
/** @type {any} null, or the `token` of a sign-in that led back to this page, and the `key` of its session */
let returned = null;

/** The sign-in of one container. */
class Authentication {
  #configuration;
  #connection;
  #session;
  #services;
  /** @type {any} */ #identity = null;
  /** @type {{ url: string, time: number } | null} */ #offer = null;
  /** Whether the API token is for reading alone. */ #offersNone = false;
  /** @type {{ resolve: (identity: any) => void, reject: (error: any) => void }[]} */ #awaitingIn = [];
  /** @type {((value?: undefined) => void)[]} */ #awaitingOut = [];
  /** @type {{ opened: Window, result: Promise<any> } | null} */ #attempt = null;

  /** Called when the session is over, whatever ended it. */
  whenLeft = () => {};

  /** @param {any} configuration @param {Connection} connection @param {Session} session @param {any} services */
  constructor(configuration, connection, session, services) {
    this.#configuration = configuration;
    this.#connection = connection;
    this.#session = session;
    this.#services = services;
    connection.whenSessionEnds = (error) => {
      this.#take(error);
      this.#leave();
    };
    if (configuration.persist && !services.authTokenStore && typeof window === "object") {
      window.addEventListener("storage", (event) => {
        if (event.key === session.key && event.storageArea === storage("localStorage")) this.#follow();
      }, { signal: services.replaced });
      // A page that a step back shows again got no events since it was left.
      window.addEventListener("pageshow", (event) => { if (event.persisted) this.#follow(); }, { signal: services.replaced });
    }
  }

  /** The address of the sign-in; null without one, or once it is too old. Who reads it may leave the page to it, and return. */
  get signInURL() {
    if (this.#url) this.#expectReturn(this.#url);
    return this.#url;
  }

  get #url() {
    return this.#offer && Date.now() - this.#offer.time < signInURLLifetime ? this.#offer.url : null;
  }

  /**
   * Allows one token in the address of this tab: that of the sign-in which begins now. It comes with the nonce of the sign-in.
   * @param {string} url of the sign-in
   */
  #expectReturn(url) {
    const nonce = new URL(url).searchParams.get("nonce");
    if (!nonce) return;
    try {
      storage("sessionStorage")?.setItem(returningKey, `${Date.now()} ${this.#session.key} ${nonce}`);
    } catch {
      // Then only the window signs in.
    }
  }

  /** @returns {Promise<any>} the identity of the session; null without one */
  async setUp() {
    const token = tokenOfReturn(this.#session.key);
    if (token) await this.#session.begin(token);
    else await this.#session.reload();
    const { epoch } = this.#session;
    try {
      const identity = await this.#caller();
      // Who signed out or in meanwhile has said what the identity is.
      if (epoch === this.#session.epoch) this.#identity = identity;
    } catch (error) {
      const { token } = this.#session;
      const isRefused = token && error.ckErrorCode === "AUTHENTICATION_FAILED";
      // Without the token, a refusal is about the API token or the page's origin, and the session goes on.
      const refusal = isRefused ? await this.#caller(true).then(() => error, (other) => other) : error;
      if (epoch !== this.#session.epoch) return this.#identity;
      if (refusal.ckErrorCode !== "AUTHENTICATION_REQUIRED") throw refusal;
      if (token) await this.#session.end(false);
      this.#identity = null;
      this.#take(refusal);
    }
    this.#show();
    return this.#identity;
  }

  whenIn() { return new Promise((resolve, reject) => this.#awaitingIn.push({ resolve, reject })); }

  whenOut() { return new Promise((resolve) => this.#awaitingOut.push(resolve)); }

  /**
   * Signs in by a window, which browsers open in a click alone; or leads this page to the sign-in and back.
   * @param {{ redirect?: boolean }} [options]
   */
  signIn(options = {}) {
    if (typeof window !== "object") return Promise.reject(new CKError("SIGN_IN_FAILED", "a browser signs in"));
    if (this.#identity) return Promise.resolve(this.#identity);
    if (options?.redirect) return this.#redirect();
    if (this.#attempt && !this.#attempt.opened.closed) {
      this.#attempt.opened.focus();
      return this.#attempt.result;
    }
    const url = this.#url;
    // The window opens now, in the click; one without an address waits for it.
    const opened = window.open(url ?? "about:blank", "", "popup,width=640,height=640");
    const result = this.#run(opened, url);
    if (opened) this.#attempt = { opened, result };
    return result;
  }

  /** @param {Window | null} opened @param {string | null} url */
  async #run(opened, url) {
    try {
      if (!opened) throw new CKError("SIGN_IN_FAILED", "the browser blocked the pop-up");
      const address = url ?? await this.#fetchOffer();
      if (!url) opened.location.replace(address);
      await this.#enter(await tokenFrom(opened, new URL(address).origin));
      return this.#identity;
    } catch (error) {
      opened?.close();
      this.#services.logger?.warn?.(String(error));
      for (const { reject } of this.#awaitingIn.splice(0)) reject(error);
      throw error;
    } finally {
      if (this.#attempt?.opened === opened) this.#attempt = null;
    }
  }

  /** Never resolves: the page is left. @returns {Promise<never>} */
  async #redirect() {
    const url = new URL(this.#url ?? await this.#fetchOffer());
    this.#expectReturn(url.href);
    // A development server is told where to return; elsewhere the API token says it.
    if (url.searchParams.has("origin")) url.searchParams.set("callback", location.href.split("#")[0]);
    location.assign(url);
    return new Promise(() => {});
  }

  async signOut() {
    await this.#session.ready();
    const { token } = this.#session;
    if (!token) return;
    // Accounts of a development server have no sessions that could end.
    const ending = token.startsWith("dev:") ? undefined : this.#endSession(token);
    await this.#leave();
    await ending;
  }

  /** Ends the session at the service, so that no copy of the token is valid. @param {string} token */
  async #endSession(token) {
    const { apiToken } = this.#configuration;
    const url = `${this.#configuration.base("private")}/nephos/1/installation/sessions/sign-out`
      + `?ckAPIToken=${encodeURIComponent(apiToken ?? "")}`;
    try {
      await this.#connection.fetch(url, { method: "POST", headers: { Authorization: `Bearer ${token}` }, body: "{}" });
    } catch {
      // The session ends by itself, in time.
    }
  }

  /** @param {boolean} [isNobody] whether the session is left out */
  #caller(isNobody) { return this.#connection.send("public", "users/caller", undefined, { isQuiet: true, isNobody }); }

  /** Resolves to a new address of the sign-in. @returns {Promise<string>} */
  async #fetchOffer() {
    try {
      await this.#caller();
    } catch (error) {
      if (this.#take(error)) return error.redirectURL;
      if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED") throw error;
    }
    throw new CKError("SIGN_IN_FAILED", "the API token allows no sign-in");
  }

  /** Keeps the address of an error. @param {CKError} error */
  #take(error) {
    if (error.ckErrorCode !== "AUTHENTICATION_REQUIRED") return false;
    this.#offersNone = !/^https?:/.test(error.redirectURL ?? "");
    if (this.#offersNone) return false;
    this.#offer = { url: error.redirectURL, time: Date.now() };
    return true;
  }

  /** @param {string} token */
  async #enter(token) {
    const beginning = this.#session.begin(token);
    const { epoch } = this.#session;
    await beginning;
    /** @type {any} */ let identity;
    try {
      identity = await this.#caller();
    } catch (error) {
      if (epoch === this.#session.epoch) await this.#session.end();
      throw error;
    }
    if (epoch !== this.#session.epoch) throw new CKError("SIGN_IN_FAILED", "the session has ended");
    this.#welcome(identity);
  }

  /** @param {any} identity of the session that has begun */
  #welcome(identity) {
    this.#identity = identity;
    this.#offer = null;
    this.#show();
    for (const { resolve } of this.#awaitingIn.splice(0)) resolve(identity);
  }

  /** @param {boolean} [isElsewhere] whether another tab has ended the stored session */
  async #leave(isElsewhere = false) {
    this.#identity = null;
    this.whenLeft();
    if (!isElsewhere) await this.#session.end();
    this.#show();
    for (const resolve of this.#awaitingOut.splice(0)) resolve();
    if (!this.#url && !this.#session.token) await this.#fetchOffer().catch(() => {});
  }

  /** Does what another tab did, and stores nothing. */
  async #follow() {
    const had = this.#session.token !== null;
    // The event may be old, as in a tab that slept: what is stored now counts.
    if (this.#session.follow()) return;
    if (had) await this.#leave(true);
    if (this.#session.token) await this.#join();
  }

  /** Takes the session that another tab began. What hinders may pass, unless it is about the session. */
  async #join() {
    const { epoch } = this.#session;
    const isOver = () => epoch !== this.#session.epoch || this.#services.replaced.aborted;
    for (let wait = 500; !isOver(); wait = Math.min(wait * 2, 30_000)) {
      try {
        const identity = await this.#caller();
        if (!isOver()) this.#welcome(identity);
        return;
      } catch (error) {
        if (isOver()) return;
        if (/^AUTHENTICATION/.test(error.ckErrorCode)) {
          this.#session.forget();
          this.#take(error);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 0) * 1000 || wait));
      }
    }
  }

  #show() {
    if (typeof document !== "object" || !this.#configuration.signInButton || this.#services.replaced.aborted) return;
    const { signInButton, signOutButton } = this.#configuration;
    const [signIn, signOut] = textsOf(this.#configuration.locale);
    if (this.#identity) {
      hideButton(signInButton);
      showButton(signOutButton, signOut, () => this.signOut());
    } else {
      hideButton(signOutButton);
      if (this.#offersNone) hideButton(signInButton);
      else showButton(signInButton, signIn, () => this.signIn().catch(() => {}));
    }
  }
}

/**
 * Takes a token out of the address bar. It counts only with the nonce of the sign-in for which this tab left shortly before,
 * so that neither a link nor the page that opened this one signs its reader in to another's account.
 * @param {string} key of the session that asks
 */
function tokenOfReturn(key) {
  /** @type {any} */ const url = globalThis.location?.search ? new URL(location.href) : null;
  let token = url?.searchParams.get("ckWebAuthToken") ?? url?.searchParams.get("ckSession");
  // A plus in an address reads as a space, which no token has but that of a name at a development server.
  if (token && !token.startsWith("dev:")) token = token.replaceAll(" ", "+");
  if (token) {
    const given = url.searchParams.get("ckNonce");
    for (const name of ["ckWebAuthToken", "ckSession", "ckNonce"]) url.searchParams.delete(name);
    history.replaceState(history.state, "", url);
    const place = storage("sessionStorage");
    const [time, key, nonce] = place?.getItem(returningKey)?.split(" ") ?? [];
    // A token without the nonce does not end the sign-in that has it.
    if (given && given === nonce) {
      place?.removeItem(returningKey);
      if (Date.now() - Number(time) < signInURLLifetime) returned = { key, token };
    }
    if (!returned) console.warn("CloudKit: a token in the address is dropped");
  }
  if (returned?.key !== key) return null;
  try { return returned.token; } finally { returned = null; }
}

/**
 * @param {Window} opened the window of the sign-in
 * @param {string} origin of its page; messages of other windows and origins are none
 * @returns {Promise<string>} the token of its message
 */
function tokenFrom(opened, origin) {
  return new Promise((resolve, reject) => {
    let checks = 0;
    const end = (settle, value) => {
      clearInterval(timer);
      window.removeEventListener("message", take);
      settle(value);
    };
    const fail = (reason) => end(reject, new CKError("SIGN_IN_FAILED", reason));
    const take = (event) => {
      if (event.source !== opened || event.origin !== origin || !isDictionary(event.data)) return;
      const token = event.data.ckWebAuthToken ?? event.data.ckSession;
      if (typeof token === "string" && token) end(resolve, token);
      else if (event.data.errorMessage) fail(`the sign-in failed: ${event.data.errorMessage}`);
    };
    // The message of a window that has just closed may still be on its way.
    const timer = setInterval(() => {
      if (opened.closed && ++checks > 2) fail("the window was closed");
    }, 250);
    window.addEventListener("message", take);
  });
}
