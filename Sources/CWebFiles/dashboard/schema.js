// The schema of development beside production's, and its deployment.
import { deploy, deployment, reset, schemaIndexes, schemaText } from "./api.js";
import { h, table } from "./dom.js";
import { changes, nothing, place, placeControls, refusal } from "./scope.js";
import { recordTypes } from "./schematext.js";

export const title = () => "Schema";

const progress = (index) => index.state + (index.state === "ready" ? "" : ", " + Math.round(100 * index.progress) + " %");

/** What a field is in the other environment, if it differs. */
function elsewhere(field, other) {
  if (!other) return h("span", { class: "bad" }, "missing");
  const [own, others] = [field, other].map((one) => [one.type, ...one.indexes].join(" "));
  return own === others ? "the same" : h("span", { class: "bad" }, others);
}

function typeSection(name, type, production, isDevelopment) {
  const columns = [
    { title: "field", cell: (field) => field.name },
    { title: "type", cell: (field) => field.type },
    { title: "indexes", cell: (field) => field.indexes.join(" ").toLowerCase() || "—" },
  ];
  if (isDevelopment) columns.push({ title: "in production", cell: (field) => elsewhere(field, production?.fields.get(field.name)) });
  return h("details", { open: !name.startsWith("Users") },
    h("summary", {}, h("strong", {}, name), isDevelopment && !production ? h("span", { class: "bad" }, " missing in production") : ""),
    table("Fields of " + name, columns, [...type.fields.values()].filter((field) => !field.name.startsWith("___") || field.indexes.length)),
    type.rest.length ? h("p", {}, h("span", { class: "value" }, type.rest.join("\n"))) : "");
}

function findings(report) {
  return [report.reason ? h("p", { class: "bad" }, report.reason) : "",
    list((report.findings ?? []).filter(({ message }) => message !== report.reason).map((one) =>
      h("li", { class: one.severity === "error" ? "bad" : null }, (one.line ? "line " + one.line + ": " : "") + one.message))),
    list((report.changes ?? []).map((change) => h("li", {}, change)))];
}

const list = (items) => (items.length ? h("ul", {}, items) : "");

/** Runs a command, and shows the schema anew, with the changes that were made, or why none was. */
async function run(command, done, region, go) {
  try {
    const report = await command();
    await go(location.href, { replaces: true });
    document.querySelector("h1").after(h("div", { role: "status" },
      report.isRefused ? "" : h("p", { class: "good" }, done), findings(report)));
  } catch (error) {
    region.replaceChildren(refusal(error));
  }
}

/** The form that erases development. Its person types which container. */
function resetSection(here, go) {
  const region = h("div", { role: "status" });
  const name = h("input", { id: "erased", required: true, autocomplete: "off", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    if (name.value === here.container) return run(() => reset(here), "Development erased.", region, go);
    region.replaceChildren(h("p", { class: "bad" }, "That is not the container's name: nothing is erased."));
  };
  return [h("h2", {}, "Erase development"),
    h("p", {}, "All records, zones and shares of development go, and its schema is production's again. Accounts stay. Production keeps all."),
    h("form", { class: "row", onsubmit: submit, "aria-label": "Erase development" },
      h("label", {}, "Type ", h("strong", {}, here.container), " to erase it ", name), h("button", {}, "Erase development")), region];
}

/** What a deployment would change, and the button that does it. */
async function deploymentSection(here, signal, go, may) {
  const region = h("div", { role: "status" });
  const report = await deployment(here, signal);
  const isEmpty = !report.isRefused && !(report.changes ?? []).length;
  if (isEmpty) return [h("h2", {}, "Deployment"), h("p", { class: "good" }, "Production has everything of this schema.")];
  const confirm = h("input", { type: "checkbox", id: "confirm", required: true });
  const submit = (event) => {
    event.preventDefault();
    return run(() => deploy(here, report.changes ?? []), "Deployed.", region, go);
  };
  return [h("h2", {}, "Deployment"),
    h("p", {}, report.isRefused ? "Production would not take this schema:" : "A deployment would change production:"), ...findings(report),
    report.isRefused ? "" : !may.change ? h("p", { class: "quiet" }, "Your role does not permit the deployment.") : h("form", { class: "row", onsubmit: submit, "aria-label": "Deployment" },
      h("label", { class: "check" }, confirm, "Deploy to production of " + here.container + ". What production has gained stays there."),
      h("button", { class: "main" }, "Deploy")), region];
}

export async function content(parameters, signal, go, may) {
  const here = await place(parameters, signal);
  if (!here) return nothing("schema", go);
  const isDevelopment = here.environment === "development";
  const [text, production, indexes] = await Promise.all([schemaText(here, signal),
    schemaText({ ...here, environment: "production" }, signal), schemaIndexes(here, signal)]);
  const [types, others] = [recordTypes(text), recordTypes(production)];
  return [
    h("form", { class: "row", "aria-label": "Which schema", onsubmit: (event) => event.preventDefault(),
      onchange: changes({ view: "schema", ...parameters }, go) }, placeControls(here)),
    isDevelopment ? await deploymentSection(here, signal, go, may) : "",
    h("h2", {}, "Record types"),
    [...types].map(([name, type]) => typeSection(name, type, others.get(name), isDevelopment)),
    h("h2", {}, "Indexes in use"),
    indexes.length ? table("Indexes in use", [
      { title: "record type", cell: (index) => index.recordType },
      { title: "fields", cell: (index) => [index.fields].flat().map((one) => typeof one === "string" ? one : JSON.stringify(one)).join(", ") },
      { title: "state", cell: progress },
    ], indexes) : h("p", { class: "quiet" }, "None yet: the first query of a field makes its index."),
    h("details", {}, h("summary", {}, "Text"), h("pre", { tabindex: "0", role: "region", "aria-label": "Text of the schema" }, text)),
    ...(isDevelopment && may.change ? resetSection(here, go) : []),
  ];
}
