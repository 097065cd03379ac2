// The sheet for sharing is a script of its own, loaded when the first one opens.

// The server writes both as it serves this script: a sheet of another version is none.
const [sheetVersion, sheetIntegrity] = ["SHEET_VERSION", "SHEET_INTEGRITY"];
/** @type {Promise<any> | null} */ let loadedSheet = null;

/** @type {any} */ let sheetPolicy;

/**
 * The address of a script for pages that require trusted types, where they allow the policy `cloudkit`. Others may refuse it, and
 * have a default policy or require none.
 * @param {string} src
 */
function trustedURL(src) {
  try { sheetPolicy ??= globalThis.trustedTypes?.createPolicy("cloudkit", { createScriptURL: String }); } catch {}
  return sheetPolicy?.createScriptURL(src) ?? src;
}

/** @param {string} base of the service's addresses @returns {Promise<any>} the class of the sheet */
function shareSheet(base) {
  // A copy of this script elsewhere has the service's sheet.
  const own = /^https?:.*\/ck\/[^/]+\/cloudkit\.m?js([?#]|$)/.test(scriptURL ?? "") ? scriptURL : `${base}/ck/2/`;
  const src = new URL(`../${sheetVersion}/sharesheet.js`, own).href;
  return (loadedSheet ??= new Promise((take, onerror) => {
    const script = document.createElement("script");
    document.head.append(Object.assign(script, { src: trustedURL(src), integrity: sheetIntegrity, crossOrigin: "anonymous", take, onerror }));
  }).catch(() => {
    loadedSheet = null;
    throw new CKError("SHARE_UI_TIMEOUT", `the sheet cannot be loaded: ${src}`);
  }));
}
