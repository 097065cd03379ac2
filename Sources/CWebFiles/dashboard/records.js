// The records of a zone, the last changed first.
import { ask, Problem, schemaText } from "./api.js";
import { address, field, h, link, number, select, table, time } from "./dom.js";
import { recordTypes } from "./schematext.js";
import { accountControl, accounts, changes, defaultZone, nothing, place, placeControls, shownName, zones } from "./scope.js";
import { edited, line } from "./values.js";

const pageSize = 100;
const shownColumns = 5;
/** The types of fields, those that tell records apart first. */
const columnOrder = ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE"];
const comparators = [["EQUALS", "="], ["NOT_EQUALS", "≠"], ["LESS_THAN", "<"], ["LESS_THAN_OR_EQUALS", "≤"], ["GREATER_THAN", ">"],
  ["GREATER_THAN_OR_EQUALS", "≥"], ["BEGINS_WITH", "begins with"], ["LIST_CONTAINS", "list contains"]];

/** What the names of a filter's parameters end in, for each filter. */
const filterNumbers = ["", "2", "3", "4"];

export const title = ({ type }) => type ? "Records of " + type : "Records";

/** The address's parameters, with what they leave open. */
async function scope(parameters, signal, may) {
  const found = await place(parameters, signal);
  if (!found) return null;
  const known = await accounts(found, signal);
  const database = parameters.database ?? (known.length && may.readPrivateRecords ? "private" : "public");
  const account = database === "private" ? parameters.account ?? known[0]?.name : undefined;
  const names = account === undefined ? [defaultZone] : await zones(found, account, signal);
  const zone = parameters.zone ?? names[0];
  const databases = may.readPrivateRecords ? ["private", "public"] : ["public"];
  return { found, known, names, databases,
    here: { container: found.container, environment: found.environment, database, account, zone, type: parameters.type } };
}

function scopeForm({ found, known, names, databases, here }, declared, go) {
  const isPrivate = here.database === "private";
  const types = [["", "any"], ...[...new Set([...found.types, ...declared.keys(), here.type].filter(Boolean))].sort()];
  return h("form", { class: "row", "aria-label": "Which records", onchange: changes({ view: "records", ...here }, go),
    onsubmit: (event) => event.preventDefault() },
  placeControls(found), field("Database", select("database", [...new Set([...databases, here.database])], here.database)),
  isPrivate ? accountControl("account", "Account", known, here.account) : "",
  isPrivate ? field("Zone", select("zone", [...new Set([...names, here.zone])], here.zone)) : "",
  field("Record type", select("type", types, here.type)));
}

function nameForm(here, go) {
  const name = h("input", { id: "record", name: "record", required: true });
  return h("form", { class: "row", "aria-label": "One record", onsubmit: (event) => {
    event.preventDefault();
    go(address({ ...here, view: "record", type: "", record: name.value }));
  } }, field("Record name", name), h("button", {}, "Open"));
}

/** The type of a filter's value, by the field's in the schema and the text. */
function valueType(declared, text) {
  const plain = (declared ?? "").replace(/^LIST<(.*)>$/, "$1");
  if (plain === "NUMBER" && !Number.isFinite(Number(text))) throw new Error("'" + text + "' is no number.");
  if (["STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE"].includes(plain)) return plain;
  return /^[+-]?\d+$/.test(text) ? "INT64" : text.trim() !== "" && Number.isFinite(Number(text)) ? "DOUBLE" : "STRING";
}

/** The filters of an address, all of which a record meets. */
const chosenFilters = (parameters) => filterNumbers.filter((number) => parameters["field" + number]).map((number) =>
  ({ name: parameters["field" + number], comparator: parameters["comparator" + number] ?? "EQUALS",
    value: parameters["value" + number] ?? "" }));

const filters = (parameters, fields) => chosenFilters(parameters).map(({ name, comparator, value }) => {
  const type = valueType(fields.get(name)?.type, value);
  const content = type === "REFERENCE" ? { recordName: value, action: "NONE" } : edited(type, value);
  const isNumber = type === "INT64" || type === "DOUBLE";
  return { fieldName: name, comparator,
    fieldValue: { type, value: isNumber && Number.isSafeInteger(Number(content)) ? Number(content)
      : type === "DOUBLE" ? Number(content) : content } };
});

function filterForm(parameters, here, fields, go) {
  const names = [...fields.values()].filter((one) => !one.name.startsWith("_") && !one.type.startsWith("ENCRYPTED")
    && !/ASSET|BYTES|LOCATION/.test(one.type)).map((one) => one.name);
  if (!names.length) return "";
  const submit = (event) => {
    event.preventDefault();
    const chosen = { view: "records", ...here, columns: parameters.columns };
    const form = new FormData(event.target);
    let last = 0;
    for (const number of filterNumbers.filter((one) => form.get("field" + one))) {
      const place = filterNumbers[last++];
      for (const member of ["field", "comparator", "value"]) chosen[member + place] = form.get(member + number);
    }
    go(address(chosen));
  };
  // One more row than there are filters.
  const given = chosenFilters(parameters);
  const rows = filterNumbers.slice(0, given.length + 1).map((number, index) => {
    const { name, comparator, value } = given[index] ?? {};
    return [field(index ? "and field" : "Field", select("field" + number, [["", index ? "none" : "no filter"], ...names], name)),
      field("is", select("comparator" + number, comparators, comparator)),
      field("Value", h("input", { id: "value" + number, name: "value" + number, value: value ?? "" }))];
  });
  return h("form", { class: "row", "aria-label": "Filter", onsubmit: submit }, rows, h("button", {}, "Filter"));
}

const sortable = ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE"];

/** The heading of a column, which sorts by its field: ascending, then descending. */
function sortHeading(name, type, parameters, here) {
  if (!sortable.includes(type)) return name;
  const isSorted = parameters.sort === name;
  const descends = isSorted && parameters.order !== "descending";
  const next = { ...parameters, ...here, view: "records", marker: "", page: "", sort: name, order: descends ? "descending" : "" };
  const mark = isSorted ? (parameters.order === "descending" ? " ↓" : " ↑") : "";
  const made = link(next, name + mark);
  made.setAttribute("aria-label", "Sort by " + name + (descends ? ", descending" : ""));
  // The focus returns to what has the same ID.
  made.id = "sort-" + name;
  return made;
}

function recordTable(records, here, known, columns, heading) {
  const names = new Map(known.map((account) => [account.userRecordName, shownName(account)]));
  return table("Records", [
    { title: "record name", class: "cell", cell: (record) => link({ ...here, type: "", view: "record", record: record.recordName },
      record.recordName) },
    here.type ? null : { title: "type", cell: (record) => record.recordType ?? "" },
    { title: "changed", class: "short", cell: (record) => record.modified ? time(record.modified.timestamp) : "" },
    { title: "by", cell: (record) => names.get(record.modified?.userRecordName) ?? record.modified?.userRecordName?.slice(0, 9) ?? "" },
    ...columns.map((name) => ({ title: heading(name), class: "cell", cell: (record) => line(record.fields?.[name]) })),
  ].filter(Boolean), records);
}

/** The records, and a choice of the columns. */
function columned(parameters, records, here, known) {
  const types = new Map(records.flatMap((record) => Object.entries(record.fields ?? {}).map(([name, { type }]) => [name, type])));
  const rank = (name) => (columnOrder.indexOf(types.get(name)) + columnOrder.length + 1) % (columnOrder.length + 1);
  const names = [...types.keys()].sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  const chosen = new Set(parameters.columns?.split(",") ?? names.slice(0, shownColumns));
  const region = h("div", {});
  const draw = () => region.replaceChildren(recordTable(records, here, known, names.filter((name) => chosen.has(name)),
    (name) => sortHeading(name, types.get(name), parameters, here)));
  const change = (event) => {
    chosen[event.target.checked ? "add" : "delete"](event.target.value);
    history.replaceState(null, "", address({ ...parameters, ...here, view: "records", columns: [...chosen].join(",") }));
    draw();
  };
  draw();
  return [names.length ? h("details", {}, h("summary", {}, "Columns"), h("fieldset", { class: "row", onchange: change },
    h("legend", {}, "Fields in the table"), names.map((name) => h("label", { class: "check" },
      h("input", { type: "checkbox", value: name, checked: chosen.has(name) }), name)))) : "", region];
}

function pageLinks(parameters, here, answer) {
  const page = Number(parameters.page ?? 1);
  const kept = { ...parameters, ...here, view: "records" };
  return h("ul", { class: "inline", "aria-label": "Pages" },
    page > 1 ? h("li", {}, link({ ...kept, marker: "", page: "" }, "First page")) : "",
    parameters.sort ? h("li", {}, link({ ...kept, marker: "", page: "", sort: "", order: "" }, "The last changed first")) : "",
    answer.continuationMarker ? h("li", {}, link({ ...kept, marker: answer.continuationMarker, page: page + 1 }, "Next page")) : "");
}

/** Whether a page ended before it was full, as it had looked at many records. */
const isBounded = (answer) => answer.continuationMarker && answer.records.length < pageSize;

/** A button that looks at one page after the other until one has a record, or the reader stops it. */
function further(parameters, here, answer, list, signal, go) {
  if (!isBounded(answer) || parameters.sort) return "";
  let [marker, page, looked, isLooking] = [answer.continuationMarker, Number(parameters.page ?? 1) + 1, Number(answer.scanned), false];
  const said = h("span", { role: "status" });
  const look = async () => {
    while (isLooking) {
      const next = await list(marker);
      looked += Number(next.scanned);
      if (next.records.length || !next.continuationMarker) return go(address({ ...parameters, ...here, view: "records", marker, page }));
      [marker, page] = [next.continuationMarker, page + 1];
      said.textContent = " Looked at " + number(looked) + " records.";
    }
  };
  const button = h("button", { type: "button", id: "further", onclick: async () => {
    isLooking = !isLooking;
    if (!isLooking) return;
    button.textContent = "Stop";
    try { await look(); } catch (error) { if (!signal.aborted) said.textContent = " " + error.message; }
    isLooking = false;
    button.textContent = "Look further";
  } }, "Look further");
  return h("p", {}, button, said);
}

function summary(parameters, answer) {
  const page = parameters.page ? "Page " + parameters.page + ": " : "";
  if (parameters.sort) {
    return h("p", { class: "quiet" }, page + "The first " + number(answer.records.length) + " by " + parameters.sort + " of "
      + number(answer.scanned) + " records looked at."
      + (answer.continuationMarker ? " There are more: the next page looks at others." : ""));
  }
  return h("p", { class: "quiet" }, page + number(answer.records.length) + (answer.records.length === 1 ? " record" : " records")
    + ", the last changed first." + (isBounded(answer) ? " Looked at " + number(answer.scanned)
      + " records; the next page looks at more." : ""));
}

/** Where an address leads that names what is no longer there. */
const gone = ({ container, environment, account }, error, go) => [h("p", { class: "bad" }, error.message),
  h("p", {}, account ? link({ view: "records", container, environment }, "Other records of the container")
    : link({ view: "records" }, "Records of another container")), ...nothing("records", go).slice(1)];

export async function content(parameters, signal, go, may) {
  let chosen;
  try {
    chosen = await scope(parameters, signal, may);
  } catch (error) {
    if (signal.aborted || !(error instanceof Problem) || error.needsSignIn) throw error;
    return gone(parameters, error, go);
  }
  if (!chosen) return nothing("records", go);
  const { found, known, names, here } = chosen;
  // A role of single containers does not see which types there are in all of them.
  const declared = here.type || !found.types.length ? recordTypes(await schemaText(found, signal)) : new Map();
  const forms = [scopeForm(chosen, declared, go)];
  if (here.database === "private" && !here.account) return [...forms, h("p", {}, "The container has no account yet.")];
  const fields = declared.get(here.type)?.fields ?? new Map();
  forms.push(nameForm(here, go), here.type ? filterForm(parameters, here, fields, go)
    : h("p", { class: "quiet" }, "Choose a record type to filter by its fields."));
  try {
    const list = (continuationMarker) => ask(found, "records/list", {
      database: here.database, account: here.account, zoneName: here.zone,
      recordType: here.type || undefined, filterBy: filters(parameters, fields), continuationMarker,
      sortBy: parameters.sort ? [{ fieldName: parameters.sort, ascending: parameters.order !== "descending" }] : undefined,
      resultsLimit: pageSize }, signal);
    const answer = await list(parameters.marker);
    const good = answer.records.filter((record) => !record.serverErrorCode);
    const damaged = answer.records.filter((record) => record.serverErrorCode);
    const isElsewhere = here.type && !answer.records.length && !answer.continuationMarker && !parameters.marker
      && (known.length > 1 || names.length > 1 || here.database === "public");
    return [...forms, summary(parameters, answer), isElsewhere ? h("p", {}, "Other accounts, zones and databases were not looked at: "
      + "choose one above.") : "", ...(good.length ? columned(parameters, good, here, known) : []),
      ...damaged.map((record) => h("p", { class: "bad" }, record.recordName + ": " + record.reason)),
      further(parameters, here, answer, list, signal, go), pageLinks(parameters, here, answer)];
  } catch (error) {
    if (signal.aborted || error.needsSignIn) throw error;
    const isRefused = error instanceof Problem && error.status === 403 && here.database === "private";
    return [...forms, h("p", { class: "bad" }, error.message), error instanceof Problem && error.advice ? h("p", {}, error.advice) : "",
      isRefused ? h("p", {}, "Private records need a developer’s role. ",
        link({ view: "records", container: here.container, environment: here.environment, database: "public" }, "Public records")) : ""];
  }
}
