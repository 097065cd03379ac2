/** @type {any} */ (document.currentScript).take(ShareSheet);
})();
