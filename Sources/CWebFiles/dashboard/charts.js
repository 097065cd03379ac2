// Four charts of the requests since the page was opened, each with a table of the same numbers.
import { h, number, table } from "./dom.js";
import { isFailed, isNotification, onRequests } from "./live.js";

/** The seconds of a bar, and how many bars are kept: an hour. */
const seconds = 10;
const kept = 360;
const shown = 60;

const bars = [];

/** The bar of the present time. Times without requests have empty bars. */
function bar() {
  const at = Math.floor(Date.now() / 1000 / seconds) * seconds;
  if (!bars.length) bars.push({ at, count: 0, failed: 0, slowest: 0, bytes: 0 });
  while (bars.at(-1).at < at) bars.push({ at: bars.at(-1).at + seconds, count: 0, failed: 0, slowest: 0, bytes: 0 });
  bars.splice(0, bars.length - kept);
  return bars.at(-1);
}

onRequests((added, missed) => {
  const current = bar();
  const answered = added.filter((request) => !isNotification(request));
  current.count += answered.length + missed;
  for (const request of answered) {
    if (isFailed(request)) current.failed += 1;
    current.slowest = Math.max(current.slowest, request.milliseconds);
    current.bytes += request.answerSize ?? 0;
  }
});

const charts = [["Requests", "count", "in " + seconds + " s"], ["Failed", "failed", "in " + seconds + " s"],
  ["Slowest", "slowest", "ms of the slowest request"], ["Answers", "bytes", "bytes in " + seconds + " s"]];

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const clock = (at) => new Date(at * 1000).toLocaleTimeString();

function chart([title, member, unit]) {
  const newest = bars.slice(-shown);
  const most = Math.max(1, ...newest.map((one) => one[member]));
  const step = 300 / shown;
  const rects = newest.map((one, index) => svg("rect", { x: 300 - (newest.length - index) * step, width: step - 1,
    y: 60 - 60 * one[member] / most, height: 60 * one[member] / most }));
  const last = newest.at(-1)[member];
  const label = title + ": " + number(last) + " " + unit + " now, " + number(most) + " at most";
  return h("figure", {}, h("figcaption", {}, h("strong", {}, title), " ", number(last), h("span", { class: "quiet" }, " " + unit)),
    svg("svg", { viewBox: "0 0 300 62", role: "img", "aria-label": label, class: "chart" },
      ...rects, svg("line", { x1: 0, y1: 61, x2: 300, y2: 61 })));
}

let isTableOpen = false;

/** The charts, and a table of their numbers. */
export function drawCharts() {
  bar();
  const rows = bars.slice(-shown).filter((one) => one.count).reverse();
  return [h("div", { class: "columns" }, charts.map(chart)),
    h("details", { id: "chart-table", open: isTableOpen, ontoggle: (event) => { isTableOpen = event.target.open; } }, h("summary", {}, "The charts as a table"),
      table("Requests by time", [{ title: "from", cell: (one) => clock(one.at) },
        ...charts.map(([title, member]) => ({ title, class: "number", cell: (one) => number(one[member]) }))], rows))];
}
