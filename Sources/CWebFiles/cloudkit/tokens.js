// The session of a container: its web auth token, and where that is stored.

/** @param {string} name of a property of the window @returns {Storage | undefined} */
function storage(name) {
  // The property itself throws on pages without an origin, and where the reader's settings forbid it.
  try { return globalThis[name] ?? undefined; } catch { return undefined; }
}

/** A session: none, or that of a token. */
class Session {
  /** @type {string | null} */ token = null;
  /** The number of sign-ins and sign-outs so far, so that a late answer does not bring a session back. */
  epoch = 0;
  /**
   * What tells the session of this tab from another that is stored: a session's token has many texts.
   * @type {string | null}
   */
  #name = null;
  #configuration;
  #store;
  /** @type {Promise<void> | undefined} */ #loaded;

  /** @param {any} configuration @param {any} services */
  constructor(configuration, services) {
    this.#configuration = configuration;
    this.#store = services.authTokenStore;
  }

  /** The key of the token in the browser's storage. */
  get key() { return `cloudkit:${this.#configuration.containerIdentifier}:${this.#configuration.environment}`; }

  get #nameKey() { return this.key + ":session"; }

  get #storage() { return storage(this.#configuration.persist ? "localStorage" : "sessionStorage"); }

  /** Resolves once the stored token is read. */
  ready() { return (this.#loaded ??= this.#load()); }

  /** Reads the stored token again. */
  reload() {
    this.#loaded = undefined;
    return this.ready();
  }

  async #load() {
    const epoch = this.epoch;
    try {
      const token = this.#store
        ? await this.#store.getToken(this.#configuration.containerIdentifier)
        : this.#storage ? this.#storage.getItem(this.key) : this.token;
      if (epoch !== this.epoch) return;
      this.token = token || null;
      this.#name = this.#storedName;
    } catch (error) {
      this.#loaded = undefined;
      throw new CKError("AUTH_PERSIST_ERROR", `The session cannot be read: ${error?.message ?? error}`);
    }
  }

  /** The name of the session that tabs share; null if there is none, or no sharing. */
  get #storedName() {
    return this.#configuration.persist && !this.#store ? this.#storage?.getItem(this.#nameKey) ?? null : null;
  }

  /** Takes what another tab stored. @returns {boolean} whether it is of the same session */
  follow() {
    const token = this.#storage?.getItem(this.key) || null;
    const name = this.#storedName;
    const isSame = name === this.#name && (token === null) === (this.token === null);
    if (!isSame) this.epoch += 1;
    [this.token, this.#name, this.#loaded] = [token, name, Promise.resolve()];
    return isSame;
  }

  /** Is none any longer, whatever is stored. */
  forget() {
    this.epoch += 1;
    this.token = this.#name = null;
    this.#loaded = Promise.resolve();
  }

  /** @param {string} token @returns {Promise<void>} rejects with `AUTH_PERSIST_ERROR` if the token cannot be stored */
  async begin(token) {
    this.forget();
    this.token = token;
    try {
      if (!this.#store && this.#configuration.persist) {
        this.#name = makeRecordName();
        this.#storage?.setItem(this.#nameKey, this.#name);
      }
      await this.#put(token);
    } catch (error) {
      if (!this.#store && !this.#configuration.persist) return;
      await this.end();
      throw new CKError("AUTH_PERSIST_ERROR", `The session cannot be stored: ${error?.message ?? error}`);
    }
  }

  /** @param {boolean} [isSignOut] or a refusal: a store may have another environment's token */
  async end(isSignOut = true) {
    const name = this.#name;
    this.forget();
    if (this.#store && !isSignOut) return;
    // What could not be stored is not there.
    try { await this.#put(null, name); } catch {}
  }

  /** Keeps the next text of the token. @param {string} token @param {number} epoch of the request */
  async replace(token, epoch) {
    if (epoch !== this.epoch || token === this.token) return;
    this.token = token;
    // The earlier text stays valid.
    try { await this.#put(token); } catch {}
  }

  /** @param {string | null} token @param {string | null} [name] of its session */
  async #put(token, name = this.#name) {
    if (this.#store) return this.#store.putToken(this.#configuration.containerIdentifier, token);
    const place = this.#storage;
    if (!place) throw new Error("this page has no storage");
    // Another tab may have ended this session, or begun another.
    if (name !== this.#storedName) return;
    if (token !== null) return place.setItem(this.key, token);
    place.removeItem(this.key);
    place.removeItem(this.#nameKey);
  }
}
