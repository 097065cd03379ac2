// Errors: of the service, and of this module.

const serverErrorCodes = [
  "ACCESS_DENIED", "ATOMIC_ERROR", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED", "BAD_REQUEST", "CONFLICT", "EXISTS",
  "INTERNAL_ERROR", "NOT_FOUND", "QUOTA_EXCEEDED", "THROTTLED", "TRY_AGAIN_LATER", "UNIQUE_FIELD_ERROR",
  "VALIDATING_REFERENCE_ERROR", "ZONE_NOT_FOUND",
];
const localErrorCodes = [
  "AUTH_PERSIST_ERROR", "CONFIGURATION_ERROR", "INVALID_ARGUMENTS", "NETWORK_ERROR", "SERVICE_UNAVAILABLE",
  "SHARE_UI_TIMEOUT", "SIGN_IN_FAILED", "UNEXPECTED_SERVER_RESPONSE", "UNKNOWN_ERROR",
];

/** An error of the service or of this module. Its codes are also properties of the class, as in `CKError.CONFLICT`. */
class CKError extends Error {
  /**
   * @param {string} ckErrorCode one of the codes above
   * @param {string} reason what is wrong, and what helps
   * @param {any} [details] the error dictionary of the service
   */
  constructor(ckErrorCode, reason, details = {}) {
    super(reason);
    this.ckErrorCode = ckErrorCode;
    this.reason = reason;
    /** @type {string | undefined} */ this.serverErrorCode = details.serverErrorCode;
    this.isServerError = details.serverErrorCode !== undefined;
    /** @type {string | undefined} */ this.extensionErrorCode = details.extensionErrorCode;
    this.isServerExtensionError = details.extensionErrorCode !== undefined;
    /** @type {string | undefined} */ this.uuid = details.uuid;
    /** @type {number | undefined} */ this.retryAfter = details.retryAfter;
    /** @type {string | undefined} */ this.redirectURL = details.redirectURL;
    /** @type {string | undefined} */ this.recordName = details.recordName;
    /** @type {any} */ this.zoneID = details.zoneID;
    /** @type {string | undefined} */ this.subscriptionID = details.subscriptionID;
    /** @type {string | undefined} */ this.shortGUID = details.shortGUID;
    this.isError = true;
    this.isCKError = true;
  }

  get name() { return "CKError"; }

  toJSON() { return { ...this, message: this.message }; }

  toString() { return `CKError: ${this.ckErrorCode}: ${this.reason}${this.uuid ? ` (${this.uuid})` : ""}`; }
}

for (const code of [...serverErrorCodes, ...localErrorCodes]) {
  Object.defineProperty(CKError, code, { value: code, enumerable: true });
}

/** @param {any} dictionary an error dictionary of the service */
function serverError(dictionary) {
  const code = dictionary.serverErrorCode;
  return new CKError(
    serverErrorCodes.includes(code) ? code : "UNKNOWN_ERROR", dictionary.reason ?? `The service answered ${code}.`, dictionary);
}

/** @param {string} reason */
const invalid = (reason) => new CKError("INVALID_ARGUMENTS", reason);
