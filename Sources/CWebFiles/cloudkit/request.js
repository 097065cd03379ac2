// Requests to the service.

/** Sends the requests of one container. */
class Connection {
  #configuration;
  #services;
  #session;
  /**
   * Called with the error of a request whose session is over.
   * @type {(error: CKError) => void}
   */
  whenSessionEnds = () => {};
  /** The name of this client in requests, so that it is not notified of its own changes. @type {string | undefined} */
  clientID;

  /** @param {any} configuration @param {any} services @param {Session} session */
  constructor(configuration, services, session) {
    this.#configuration = configuration;
    this.#services = services;
    this.#session = session;
  }

  /**
   * @param {string} scope `public`, `private` or `shared`
   * @param {string} action such as `records/query`
   * @param {any} [body] none for a GET
   * @param {{ isQuiet?: boolean, isNobody?: boolean }} [options] quiet: the end of the session is the caller's to handle
   * @returns {Promise<any>} the answer
   */
  async send(scope, action, body, options = {}) {
    const { containerIdentifier, environment } = this.#configuration;
    const path = `/database/1/${containerIdentifier}/${environment}/${scope}/${action}`;
    return this.exchange(this.#configuration.base(scope), path, body, options);
  }

  /** @param {string} action @param {any} body @returns {Promise<any>} the answer about a push token */
  async sendDevice(action, body) {
    const { containerIdentifier, environment } = this.#configuration;
    return this.exchange(this.#configuration.base("private"), `/device/1/${containerIdentifier}/${environment}/${action}`, body);
  }

  /** The base of the service's addresses that are of no database. */
  get base() { return this.#configuration.base("private"); }

  /** @param {string} shortGUID */
  shareURL(shortGUID) { return `${this.base}/share/${shortGUID}`; }

  /** @param {string} base @param {string} path @param {any} body @param {{ isQuiet?: boolean, isNobody?: boolean }} [options] */
  async exchange(base, path, body, options = {}) {
    await this.#session.ready();
    const { epoch } = this.#session;
    const token = options.isNobody ? null : this.#session.token;
    const text = body === undefined ? undefined : textOf(body);
    const target = path + this.#query();
    const key = this.#configuration.serverKey;
    /** @type {Record<string, string>} */
    const headers = key ? await key.sign(target, text ?? "") : token ? { Authorization: `Bearer ${encodeURI(token)}` } : {};
    const request = { method: text === undefined ? "GET" : "POST", headers, body: text };
    try {
      const { answer, response } = await this.#attempt(base + target, request);
      const next = response.headers?.get?.("X-Apple-CloudKit-Web-Auth-Token");
      if (token && next) await this.#session.replace(next, epoch);
      return answer;
    } catch (error) {
      const isOver = token && error.ckErrorCode === "AUTHENTICATION_REQUIRED" && epoch === this.#session.epoch;
      if (isOver && !options.isQuiet) this.whenSessionEnds(error);
      throw error;
    }
  }

  #query() {
    const parameters = [["ckAPIToken", this.#configuration.apiToken], ["clientId", this.clientID]];
    const query = parameters.filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return query.length === 0 ? "" : "?" + query.join("&");
  }

  /** @param {string} url @param {any} request @returns {Promise<any>} */
  async #attempt(url, request) {
    const response = await this.fetch(url, request);
    // A status 421 without an answer of the service is about the connection, which a new request does not reuse.
    if (response.status !== 421) return { response, answer: await answerOf(response) };
    return answerOf(response).catch(async (error) => {
      if (error.isServerError) throw error;
      const second = await this.fetch(url, request);
      return { response: second, answer: await answerOf(second) };
    });
  }

  /** @param {string} url @param {any} request @returns {Promise<any>} the response, whatever its status */
  async fetch(url, request) {
    /** @type {any} */ const original = globalThis.fetch?.bind(globalThis);
    const fetch = this.#services.fetch ?? original;
    if (!fetch) throw new CKError("CONFIGURATION_ERROR", "give 'services.fetch'");
    try {
      const response = await fetch(url, request, original);
      if (!response?.text) throw "no response";
      return response;
    } catch (error) {
      if (request?.signal?.aborted) throw error;
      this.#services.logger?.warn?.(`CloudKit: ${url.split("?")[0]}: ${error}`);
      throw new CKError("NETWORK_ERROR", `The service is not reached: ${error?.message ?? error}`);
    }
  }
}

/** @param {any} body of a request @returns {string} its JSON, which has no cycles, and big integers in fields alone */
function textOf(body) {
  try { return JSON.stringify(body); } catch (error) { throw invalid(String(error)); }
}

/** @param {any} response @returns {Promise<any>} the decoded answer; rejects with the error of a refusal */
async function answerOf(response) {
  /** @type {any} */
  let [text, answer] = [];
  try { text = await response.text(); } catch (error) {
    throw new CKError("NETWORK_ERROR", `The answer is cut: ${error?.message ?? error}`);
  }
  // Another program than the service may have answered.
  try { answer = JSON.parse(text); } catch {}
  if (response.ok && isDictionary(answer)) return answer;
  if (isDictionary(answer) && answer.serverErrorCode) throw serverError(answer);
  const retryAfter = Number(response.headers?.get?.("Retry-After")) || undefined;
  throw new CKError(
    response.status === 503 ? "SERVICE_UNAVAILABLE" : "UNEXPECTED_SERVER_RESPONSE",
    `No answer of the service: ${response.status}`, { retryAfter });
}
