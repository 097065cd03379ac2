// A program in Node that requires the script gets the namespace.
if (typeof module === "object") module.exports = CloudKit;
globalThis.CloudKit = CloudKit;
if (typeof window === "object") window.dispatchEvent(new Event(CLOUDKIT_LOADED));
})();
