(() => {
"use strict";
const scriptURL = typeof document === "object" ? document.currentScript?.src : undefined;
