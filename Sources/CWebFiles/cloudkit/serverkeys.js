// Server-to-server keys, by which programs in Node sign requests to the public database.

class ServerKey {
  #options;
  /** @type {Promise<any> | undefined} */ #loaded;

  /** @param {any} options `keyID`; `privateKeyFile`, a path, the text of a PEM file or a KeyObject; `privateKeyPassPhrase` */
  constructor(options) {
    for (const name of ["keyID", "privateKeyFile"]) {
      if (!options[name]) throw new CKError("CONFIGURATION_ERROR", `serverToServerKeyAuth has no '${name}'`);
    }
    this.#options = options;
  }

  /** @param {string} target path and query @param {string} body @returns {Promise<Record<string, string>>} the headers */
  async sign(target, body) {
    const { createHash, sign, key } = await (this.#loaded ??= this.#load());
    const date = new Date().toISOString().replace(/\.\d+/, "");
    const hash = createHash("sha256").update(body).digest("base64");
    const signature = sign("sha256", new TextEncoder().encode(`${date}:${hash}:${target}`), key).toString("base64");
    return {
      "X-Apple-CloudKit-Request-KeyID": this.#options.keyID, "X-Apple-CloudKit-Request-ISO8601Date": date,
      "X-Apple-CloudKit-Request-SignatureV1": signature,
    };
  }

  async #load() {
    const { privateKeyFile: file, privateKeyPassPhrase: passphrase } = this.#options;
    try {
      // The names are joined here so that bundlers for browsers do not look for the modules.
      const [{ createHash, createPrivateKey, sign }, { readFile }] =
        await Promise.all(["crypto", "fs/promises"].map((name) => import("node:" + name)));
      if (typeof file === "object" && file.type === "private") return { createHash, sign, key: file };
      const pem = String(file).includes("-----BEGIN") ? file : await readFile(file, "utf8");
      return { createHash, sign, key: createPrivateKey({ key: pem, passphrase }) };
    } catch (error) {
      throw new CKError("CONFIGURATION_ERROR", `The key cannot be read: ${error?.message ?? error}`);
    }
  }
}
