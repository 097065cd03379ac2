// Elements, made of text alone: nothing that a client of the server wrote becomes markup.

/** Controls of a text's direction, by which a name could turn the words beside it. */
export const directions = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text in which they are drawn. */
const drawn = (text) => text.replace(directions, (control) => "\\u{" + control.codePointAt(0).toString(16) + "}");

/** Makes an element. `on…` members are listeners, `true` is an attribute without a value, null and false are none. */
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => typeof child === "string" && name !== "textarea" ? drawn(child) : child));
  return made;
}

/** The address of a view. Empty parameters are left out. */
export function address(parameters) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return kept.length ? "?" + new URLSearchParams(kept) : "/dashboard";
}

export function link(parameters, ...text) {
  return h("a", { href: address(parameters) }, ...text);
}

/**
 * A table in a region of its own that scrolls on narrow screens.
 * Columns are `{title, class, cell(item)}`; the first column's cells are the rows' headings.
 */
export function table(caption, columns, items) {
  const head = h("tr", {}, columns.map((column) => h("th", { scope: "col", class: column.class }, column.title)));
  const rows = items.map((item) => h("tr", {}, columns.map((column, index) =>
    h(index ? "td" : "th", { scope: index ? null : "row", class: column.class }, column.cell(item)))));
  return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {}, h("thead", {}, head), h("tbody", {}, rows)));
}

/** A list of terms. Pairs without a value are left out. */
export function facts(pairs) {
  return h("dl", {}, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
}

export function field(label, control) {
  return h("label", {}, label, control);
}

export function select(id, options, chosen, attributes = {}) {
  return h("select", { id, name: id, ...attributes }, options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === (chosen ?? "") }, text);
  }));
}

/** Text that can be copied. */
export function sample(title, text) {
  const done = h("span", { role: "status" });
  const copy = navigator.clipboard && h("button", {
    type: "button", "aria-label": "Copy: " + title,
    onclick: async () => { await navigator.clipboard.writeText(text); done.textContent = " Copied"; },
  }, "Copy");
  return h("div", {}, h("h3", {}, title), h("pre", { tabindex: "0", role: "region", "aria-label": title }, text), copy, done);
}

/**
 * Replaces the content of a live region, but not under the pointer or the focus: then when they leave. What the reader asked for,
 * and what takes the place of no list, does not wait.
 */
export function live(region, draw) {
  let waits = false;
  const hasFocus = () => region.contains(document.activeElement);
  const update = (isAwaited = false) => {
    waits = !isAwaited && (region.matches(":hover") || hasFocus());
    region.toggleAttribute("data-paused", waits);
    if (waits) return;
    if (hasFocus()) document.querySelector("h1").focus({ preventScroll: true });
    region.replaceChildren(...draw());
  };
  const resume = () => { if (waits) setTimeout(() => { if (waits) update(); }); };
  region.addEventListener("pointerleave", resume);
  region.addEventListener("focusout", resume);
  region.replaceChildren(...draw());
  return update;
}

export function time(text) {
  const date = new Date(text);
  if (isNaN(date)) return String(text);
  const isToday = date.toDateString() === new Date().toDateString();
  return h("time", { datetime: date.toISOString(), title: date.toISOString() },
    isToday ? date.toLocaleTimeString() : date.toLocaleString());
}

export const number = (value) => Number(value).toLocaleString();
