// The sheet for sharing is a script of its own, loaded when the first one opens.

// The server writes both as it serves this script: a sheet of another version is none.
const [sheetVersion, sheetIntegrity] = ["SHEET_VERSION", "SHEET_INTEGRITY"];
/** @type {Promise<any> | null} */ let loadedSheet = null;

/** @param {string} base of the service's addresses @returns {Promise<any>} the class of the sheet */
function shareSheet(base) {
  // A copy of this script elsewhere has the service's sheet.
  const own = /^https?:.*\/ck\/[^/]+\/cloudkit\.m?js([?#]|$)/.test(scriptURL ?? "") ? scriptURL : `${base}/ck/2/`;
  const src = new URL(`../${sheetVersion}/sharesheet.js`, own).href;
  return (loadedSheet ??= new Promise((take, reject) => {
    const onerror = () => reject(new CKError("SHARE_UI_TIMEOUT", `the sheet cannot be loaded: ${src}`));
    const script = Object.assign(document.createElement("script"), { src, integrity: sheetIntegrity, crossOrigin: "anonymous", take, onerror });
    document.head.append(script);
  }).catch((error) => {
    loadedSheet = null;
    throw error;
  }));
}
