globalThis.CloudKit = CloudKit;
if (typeof window === "object") window.dispatchEvent(new Event(CLOUDKIT_LOADED));
})();
