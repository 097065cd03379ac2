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
      if (epoch === this.epoch) this.token = token || null;
    } catch (error) {
      this.#loaded = undefined;
      throw new CKError("AUTH_PERSIST_ERROR", `The stored session cannot be read: ${error?.message ?? error}`);
    }
  }

  /** @param {string} token @returns {Promise<void>} rejects with `AUTH_PERSIST_ERROR` if the token cannot be stored */
  async begin(token) {
    this.epoch += 1;
    this.token = token;
    this.#loaded = Promise.resolve();
    try {
      await this.#put(token);
    } catch (error) {
      if (!this.#store && !this.#configuration.persist) return;
      await this.end();
      throw new CKError("AUTH_PERSIST_ERROR", `The session cannot be stored: ${error?.message ?? error}`);
    }
  }

  async end() {
    this.epoch += 1;
    this.token = null;
    this.#loaded = Promise.resolve();
    try { await this.#put(null); } catch { /* What could not be stored is not there. */ }
  }

  /** Keeps the next text of the token. @param {string} token @param {number} epoch of the request */
  async replace(token, epoch) {
    if (epoch !== this.epoch || token === this.token) return;
    this.token = token;
    try { await this.#put(token); } catch { /* The earlier text stays valid. */ }
  }

  /** @param {string | null} token */
  async #put(token) {
    if (this.#store) return this.#store.putToken(this.#configuration.containerIdentifier, token);
    const place = this.#storage;
    if (!place) throw new Error("this page has no storage");
    if (token === null) place.removeItem(this.key);
    else place.setItem(this.key, token);
  }
}
