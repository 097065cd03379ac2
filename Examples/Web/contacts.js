// The contacts of Examples/ContactList in a browser: what is typed in one shows in the other.
//
//     nephos dev                                     the service
//     python3 -m http.server -d Examples/Web 8000    this page, at http://localhost:8000
//     NEPHOS_TOKEN=dev:ada swift run ContactList     the Swift program, as the account that signs in here

const server = new URL(new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:8484");
// A link must not choose whose script runs here.
if (!/^https?:$/.test(server.protocol) || !["127.0.0.1", "localhost", "[::1]"].includes(server.hostname)) {
  throw new Error("the server of this example is on this machine");
}
const { default: CloudKit } = await import(new URL("/ck/2/cloudkit.mjs", server));

CloudKit.configure({
  containers: [{
    containerIdentifier: "iCloud.org.example.ContactList", environment: "development",
    apiTokenAuth: { apiToken: "any", persist: true },
  }],
});
const container = CloudKit.getDefaultContainer();
const database = container.privateCloudDatabase;
const zoneID = { zoneName: "Contacts" };

/** The fetched records by name, and the position in the zone's changes. */
const contacts = new Map();
let syncToken;

/** Counts sign-ins and sign-outs: what was asked for before one is not shown after it. */
let session = 0;

const main = document.querySelector("main");
const form = document.querySelector("form");
const say = (text) => { document.querySelector("[role=status]").textContent = text; };

/** Runs a task, and says why it failed. */
async function run(task) {
  const asked = session;
  try { await task(); } catch (error) { if (asked === session) say(error.reason ?? String(error)); }
}

/** Items that failed are in the response: the first one is thrown. */
function checked(response) {
  if (response.hasErrors) throw response.errors[0];
  return response;
}

/** Fetches what changed since the last fetch. */
async function fetchChanges() {
  const asked = session;
  for (let isComplete = false; !isComplete;) {
    const response = await database.fetchRecordZoneChanges({ zoneID, syncToken });
    if (asked !== session) return;
    const { zones: [changes] } = checked(response);
    for (const record of changes.records) {
      if (record.deleted) contacts.delete(record.recordName);
      else contacts.set(record.recordName, record);
    }
    syncToken = changes.syncToken;
    isComplete = !changes.moreComing;
  }
  show();
}

/** Adds a contact, or changes its number. If another device was faster, its change is fetched, and ours made on top. */
async function set(name, phone) {
  const asked = session;
  const known = [...contacts.values()].find((record) => record.fields.name.value === name);
  const response = await database.saveRecords({
    recordType: "Contact", recordName: known?.recordName ?? crypto.randomUUID().toUpperCase(),
    recordChangeTag: known?.recordChangeTag,
    fields: { name: { value: name }, phone: { value: phone }, edited: { value: new Date() } },
  }, { zoneID });
  if (asked !== session) return;
  await fetchChanges();
  if (asked === session && response.errors[0]?.ckErrorCode === "CONFLICT") return set(name, phone);
  checked(response);
}

async function remove(record) {
  const asked = session;
  checked(await database.deleteRecords(record, { zoneID }));
  if (asked === session) await fetchChanges();
}

function show() {
  const names = (record) => record.fields.name.value;
  const sorted = [...contacts.values()].sort((one, other) => names(one).localeCompare(names(other)));
  main.querySelector("ul").replaceChildren(...sorted.map((record) => {
    const [item, text, button] = ["li", "span", "button"].map((name) => document.createElement(name));
    text.textContent = `${names(record)}: ${record.fields.phone?.value ?? ""}`;
    button.textContent = "Remove";
    button.addEventListener("click", () => run(() => remove(record)));
    item.append(text, button);
    return item;
  }));
}

async function signedIn() {
  session += 1;
  say("");
  main.hidden = false;
  container.whenUserSignsOut().then(signedOut);
  await run(async () => {
    checked(await database.saveRecordZones(zoneID));
    checked(await database.saveSubscriptions({ subscriptionType: "zone", subscriptionID: "contacts-web", zoneID }));
    // Registered first: a change after the fetch has a notification.
    await container.registerForNotifications();
    await fetchChanges();
  });
}

function signedOut() {
  session += 1;
  contacts.clear();
  syncToken = undefined;
  show();
  main.hidden = true;
  say("Sign in to see your contacts.");
  container.whenUserSignsIn().then(signedIn, (error) => { signedOut(); say(error.reason); });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { name, phone } = Object.fromEntries(new FormData(form));
  run(() => set(name, phone));
  form.reset();
});
container.addNotificationListener(() => run(fetchChanges));
run(async () => ((await container.setUpAuth()) ? signedIn() : signedOut()));
