// One record: its fields, what it refers to and what refers to it, and its edit as an account of a development server.
import { ask, isProduction, modify, pretty, Problem, upload } from "./api.js";
import { facts, field, h, link, sample, select, table, time } from "./dom.js";
import { accounts, defaultZone, nameIn, refusal, shownName } from "./scope.js";
import { curl, javascript, swift } from "./samples.js";
import { editable, edited, editedType, formOf, full, isEditable, isEncrypted, isSealed, typeName } from "./values.js";

export const title = ({ record }) => record ?? "Record";

async function show(here, signal) {
  const answer = await ask(here, "records/show", { database: here.database, account: here.account, zoneName: here.zone,
    recordName: here.record }, signal);
  const record = answer.record ?? answer.records[0];
  if (record.serverErrorCode) throw new Problem(404, record);
  return { record, referredBy: answer.referredBy, isComplete: answer.isComplete ?? true };
}

const toRecord = (here, name, text) => link({ ...here, view: "record", record: name }, text ?? name);

// MARK: Edits

/** Sends a change of one field. The others, encrypted ones among them, stay as the server has them. */
const save = (here, account, record, tag, name, value) => modify(here, account, {
  zoneID: here.zone === defaultZone ? undefined : { zoneName: here.zone }, numbersAsStrings: true,
  operations: [{ operationType: "update", record: { recordName: record.recordName, recordType: record.recordType,
    recordChangeTag: tag, fields: { [name]: value } } }],
}).then((answer) => answer.records[0]);

/** @param own what the reader wants to save, in words */
function conflict(record, server, name, own, saveAnyway) {
  const names = [...new Set([...Object.keys(record.fields), ...Object.keys(server.fields)])]
    .filter((one) => one === name || pretty(record.fields[one]?.value) !== pretty(server.fields[one]?.value)).sort();
  const shown = (value) => !value ? "no value" : isEncrypted(value) ? "encrypted" : editable(value);
  return h("section", {}, h("h3", {}, "Changed meanwhile"),
    h("p", {}, "Somebody saved the record since it was fetched. Nothing of yours was saved."),
    table("Conflict", [
      { title: "field", cell: (one) => one },
      { title: "fetched", cell: (one) => shown(record.fields[one]) },
      { title: "server's", cell: (one) => shown(server.fields[one]) },
      { title: "yours", cell: (one) => one === name ? own : "as on the server" },
    ], names), h("button", { type: "button", class: "main", onclick: saveAnyway }, "Save mine over the server's"));
}

/** The form for one field, in the place of its value. */
function editor(context, name, close) {
  const { here, record, writers, reload } = context;
  const value = record.fields[name];
  const id = "edit-" + name;
  const input = value.type === "INT64" || value.type === "DOUBLE"
    ? h("input", { id, value: editable(value), inputmode: "decimal" }) : h("textarea", { id }, editable(value));
  // A control makes each line's end \n. A text that had others keeps them where it is not edited.
  const shown = input.value;
  const text = () => input.value === shown ? editable(value) : /\r\n/.test(editable(value)) ? input.value.replace(/\n/g, "\r\n") : input.value;
  const who = select("as", writers.names, writers.first);
  const said = h("div", { role: "alert" });
  const send = async (content, tag) => {
    said.replaceChildren();
    try {
      const result = await save(here, who.value, record, tag, name, content);
      if (!result.serverErrorCode) return reload("Saved " + name + " as " + who.value + ".", "button-" + name);
      if (result.serverErrorCode === "NOT_FOUND") throw new Error("The record was deleted meanwhile.");
      if (result.serverErrorCode !== "CONFLICT") throw new Problem(400, result);
      const server = (await show(here)).record;
      said.replaceChildren(conflict(record, server, name, input.value, () => send(content, server.recordChangeTag)));
    } catch (error) {
      said.replaceChildren(refusal(error));
    }
  };
  const submit = (event) => {
    event.preventDefault();
    try {
      // A NUMBER field holds whole numbers and fractions.
      const type = editedType(value.type, text());
      send({ type, value: edited(type, text()) }, record.recordChangeTag);
    } catch (error) {
      said.replaceChildren(h("p", { class: "bad" }, error.message));
    }
  };
  const form = formOf(value.type);
  const isText = input.localName === "textarea";
  // Enter begins a line in a text that had several.
  const hasLines = input.value.includes("\n");
  const saves = (event) => event.key === "Enter" && !event.isComposing && event.target === input && isText
    && (event.ctrlKey || event.metaKey || !event.shiftKey && !hasLines && !input.value.includes("\n"));
  const keys = (event) => {
    if (event.key === "Escape") close();
    if (!saves(event)) return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  return h("form", { onsubmit: submit, onkeydown: keys },
    field(name + (form ? ", " + form : "") + (isText ? " (Control-Enter saves)" : ""), input),
    h("div", { class: "row" }, field("Save as the account", who)),
    h("p", {}, h("button", { class: "main" }, "Save"), " ", h("button", { type: "button", onclick: close }, "Cancel")), said);
}

/** The form for another file in the place of a field's. */
function fileEditor(context, name, close) {
  const { here, record, writers, reload } = context;
  const input = h("input", { id: "edit-" + name, type: "file", required: true });
  const who = select("as", writers.names, writers.first);
  const said = h("div", { role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    said.replaceChildren("Sending …");
    const fail = (error) => said.replaceChildren(refusal(error));
    try {
      const zone = here.zone === defaultZone ? undefined : { zoneName: here.zone };
      const value = await upload(here, who.value, zone,
        { recordName: record.recordName, recordType: record.recordType, fieldName: name }, input.files[0]);
      const send = async (tag) => {
        const result = await save(here, who.value, record, tag, name, { type: "ASSETID", value });
        if (!result.serverErrorCode) return reload("Saved " + name + " as " + who.value + ".", "button-" + name);
        if (result.serverErrorCode !== "CONFLICT") throw new Problem(400, result);
        const server = (await show(here)).record;
        said.replaceChildren(conflict(record, server, name, input.files[0].name, () => send(server.recordChangeTag).catch(fail)));
      };
      await send(record.recordChangeTag);
    } catch (error) {
      fail(error);
    }
  };
  return h("form", { onsubmit: submit, onkeydown: (event) => { if (event.key === "Escape") close(); } },
    h("div", { class: "row" }, field("File for " + name, input), field("Save as the account", who)),
    h("p", {}, h("button", { class: "main" }, "Replace"), " ", h("button", { type: "button", onclick: close }, "Cancel")), said);
}

function fieldRow(context, name) {
  const { here, record, writers } = context;
  const value = record.fields[name];
  const cell = h("div", {});
  const isFile = value.type === "ASSETID" && !isSealed(value) && !isProduction();
  const isOpen = writers && (isFile || isEditable(value)) && record.recordType !== "cloudkit.share";
  const draw = (focuses) => {
    const button = isOpen && h("button", { type: "button", id: "button-" + name, "aria-label": (isFile ? "Replace " : "Edit ") + name, onclick: () => {
      cell.replaceChildren((isFile ? fileEditor : editor)(context, name, () => draw(true)));
      const input = cell.querySelector("input, textarea");
      input.focus();
      if (!isFile) input.setSelectionRange(input.value.length, input.value.length);
    } }, isFile ? "Replace" : "Edit");
    cell.replaceChildren(full(value, here), ...(button ? [" ", button] : []));
    if (focuses) button.focus();
  };
  draw(false);
  return cell;
}

// MARK: Parts of the page

function systemFields(here, record, names, account) {
  const by = (change) => change ? [time(change.timestamp), " by ", names.get(change.userRecordName) ?? change.userRecordName ?? "—"] : null;
  return facts([["record type", record.recordType], ["database", here.database], ["account", account], ["zone", here.zone],
    ["change tag", h("code", {}, record.recordChangeTag ?? "")], ["created", by(record.created)], ["changed", by(record.modified)],
    ["parent", record.parent ? toRecord(here, record.parent.recordName) : null],
    ["share", record.share ? toRecord(here, record.share.recordName, "the share") : null]]);
}

function referrers(here, { referredBy, isComplete }) {
  if (!referredBy?.length) return h("p", { class: "quiet" }, "No parent, share, deleting or validating reference points to the record.");
  return [table("Records that refer to this one", [
    { title: "record name", cell: (one) => toRecord(here, one.recordName) },
    { title: "how", cell: (one) => [one.kind ?? one.action, one.recordType, one.fieldName].filter(Boolean).join(" ") },
  ], referredBy), isComplete ? "" : h("p", { class: "quiet" }, "And more.")];
}

/** The accounts as which one may save here, the likeliest first; null if nobody may. */
function writers(here, record, known, may) {
  if (!may.change) return null;
  if (isProduction()) return here.database === "public" ? { names: ["yourself"], first: "yourself" } : null;
  if (here.database === "private") return { names: [here.account], first: here.account };
  const creator = known.find((account) => account.userRecordName === record.created?.userRecordName);
  return known.length ? { names: known.map((account) => account.name), first: (creator ?? known[0]).name } : null;
}

export async function content(parameters, signal, go, may) {
  const { container, environment = "development", database = "private", account, zone = defaultZone, record: name, found } = parameters;
  const here = { container, environment, database, account: database === "private" ? account : undefined, zone, record: name };
  const shown = await show(here, signal);
  const known = await accounts(here, signal);
  const { record } = shown;
  const said = h("p", { class: "good", role: "status" });
  const reload = async (text, focus) => {
    await go(location.href, { replaces: true });
    document.getElementById("saved")?.append(text);
    document.getElementById(focus)?.focus();
  };
  said.id = "saved";
  const context = { here, record, reload, writers: writers(here, record, known, may) };
  const fields = Object.keys(record.fields ?? {}).sort();
  const names = new Map(known.map((one) => [one.userRecordName, shownName(one)]));
  return [said,
    found ? h("p", {}, "Found by its value ", h("span", { class: "value" }, found), ". ", link({ view: "find", record: found, all: "1" }, "Look further"),
      " for others: not all records were looked at.") : "",
    h("p", {}, link({ ...here, view: "records", record: "", type: record.recordType }, "All records of " + record.recordType)),
    h("h2", {}, "Fields"),
    fields.length ? table("Fields", [{ title: "field", cell: (one) => one },
      { title: "type", class: "short", cell: (one) => typeName(record.fields[one]) },
      { title: "value", cell: (one) => fieldRow(context, one) }], fields) : h("p", { class: "quiet" }, "The record has no fields."),
    context.writers ? "" : h("p", { class: "quiet" }, !may.change ? "Your role does not permit changes."
      : isProduction() ? "On a production server nobody edits another’s records here."
      : "No account exists that could edit the record."),
    h("h2", {}, "System fields"), systemFields(here, record, names, here.account && nameIn(known, here.account)),
    h("h2", {}, "Referred to by"), referrers(here, shown),
    h("p", {}, here.account ? link({ view: "people", container, environment, owner: here.account, zone, record: name },
      "Who sees this record?") : ""),
    h("details", {}, h("summary", {}, "Raw JSON"), h("pre", { tabindex: "0", role: "region", "aria-label": "Raw JSON" }, pretty(record))),
    h("details", {}, h("summary", {}, "The request as curl, Swift and JavaScript"),
      sample("curl", curl(here)), sample("Swift", swift(here)), sample("JavaScript", javascript(here)))];
}
