// The sheet by which a person shares a record: a dialog of the page, made of plain elements.

/** @param {string} tag @param {any} properties @param {any[]} children */
const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

/** @param {string} label @param {Record<string, string>} texts by value @param {string[]} allowed @param {string} value */
function choice(label, texts, allowed, value) {
  const options = Object.keys(texts).filter((name) => allowed.includes(name) || name === value);
  const select = element("select", {}, ...options.map((name) => new Option(texts[name], name, false, name === value)));
  return { select, row: element("p", {}, element("label", {}, label + " ", select)) };
}

/** The share of one record, and the dialog that changes it. */
class ShareSheet {
  #database;
  #options;
  /** @type {any} */ #record;
  /** @type {any} */ #share;
  /** @type {any[]} the participants to be, without the owner */ #people = [];
  #dialog = element("dialog", { className: "cloudkit-share" });

  /** @param {Database} database @param {any} options */
  constructor(database, options) {
    this.#database = database;
    this.#options = options;
  }

  /** Resolves once the person is done: `share` is absent if the record is not shared. @returns {Promise<any>} */
  async run() {
    await this.#fetch();
    document.body.append(this.#dialog);
    const closed = new Promise((resolve) => this.#dialog.addEventListener("close", resolve, { once: true }));
    this.#show();
    this.#dialog.showModal();
    await closed;
    this.#dialog.remove();
    return { record: this.#record, hasErrors: false, errors: [], ...(this.#share && { share: this.#share }) };
  }

  async #fetch() {
    const fetch = async (name) => first(await this.#database.fetchRecords(name, { zoneID: this.#options.zoneID }));
    this.#record = await fetch(this.#options.record);
    this.#share = this.#record.share && await fetch(this.#record.share.recordName);
    this.#people = (this.#share?.participants ?? []).filter((one) => one.type !== "OWNER");
  }

  #show(problem = "") {
    const { supportedAccess = ["PUBLIC", "PRIVATE"], supportedPermissions = ["READ_WRITE", "READ_ONLY"], shareTitle } = this.#options;
    const open = ["READ_ONLY", "READ_WRITE"].includes(this.#share?.publicPermission);
    const access = choice("Access", { PRIVATE: "Only people you invite", PUBLIC: "Anyone with the link" }, supportedAccess,
      this.#share ? (open ? "PUBLIC" : "PRIVATE") : supportedAccess.at(-1));
    const permission = choice("They", { READ_WRITE: "can make changes", READ_ONLY: "can look only" }, supportedPermissions,
      open ? this.#share.publicPermission : this.#people[0]?.permission ?? supportedPermissions[0]);
    const address = element("input", { type: "email", placeholder: "name@example.org", ariaLabel: "E-mail address" });
    const button = (textContent, onclick) => element("button", { type: "button", textContent, onclick });
    const change = (task) => () => task().then(() => this.#show(), (error) => this.#show(error.reason ?? String(error)));
    const save = change(() => this.#save(access.select.value, permission.select.value, address.value.trim()));
    const people = this.#people.map((one) => element("li", {}, nameOf(one) + " ", button("Remove", () => {
      this.#people = this.#people.filter((other) => other !== one);
      this.#show();
    })));
    this.#dialog.replaceChildren(
      element("h2", { textContent: `Share ${shareTitle ?? "this"}` }), access.row, permission.row, element("ul", {}, ...people),
      element("p", {}, element("label", {}, "Invite ", address)), element("p", { role: "alert", textContent: problem }),
      element("p", {}, this.#link()), element("p", {}, button(this.#share ? "Save" : "Share", save), " ",
        ...(this.#share ? [button("Stop sharing", change(() => this.#stop())), " "] : []),
        button("Done", () => this.#dialog.close())));
  }

  /** The share's address; nothing before there is one. */
  #link() {
    if (!this.#share) return "";
    return element("input", { readOnly: true, value: this.#database.shareURL(this.#share.shortGUID), ariaLabel: "Link" });
  }

  /** @param {string} access @param {string} permission @param {string} emailAddress of one more person; empty for none */
  async #save(access, permission, emailAddress) {
    const added = emailAddress ? [{ userIdentity: { lookupInfo: { emailAddress } }, type: "USER" }] : [];
    const participants = [...this.#people, ...added].map((one) => ({ ...one, permission }));
    const { shareTitle, shareType, shareThumbnail, zoneID } = this.#options;
    const texts = {
      [ShareRecordType.TITLE_FIELD_NAME]: shareTitle, [ShareRecordType.TYPE_FIELD_NAME]: shareType,
      [ShareRecordType.THUMBNAIL_IMAGE_DATA_FIELD_NAME]: shareThumbnail,
    };
    const { recordName, recordChangeTag } = this.#share ?? {};
    first(await this.#database.saveRecords({
      recordType: ShareRecordType.NAME, recordName, recordChangeTag, participants,
      publicPermission: access === "PUBLIC" ? permission : "NONE",
      fields: Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { value }])),
      ...(!this.#share && { forRecord: { recordName: this.#record.recordName, recordChangeTag: this.#record.recordChangeTag } }),
    }, { zoneID }));
    await this.#fetch();
  }

  async #stop() {
    first(await this.#database.deleteRecords(this.#share.recordName, { zoneID: this.#options.zoneID }));
    await this.#fetch();
  }
}

/** @param {RecordsResponse} response @returns {any} its record; throws its error */
function first(response) {
  if (response.hasErrors) throw response.errors[0];
  return response.records[0];
}

/** @param {any} participant */
function nameOf({ userIdentity = {}, acceptanceStatus }) {
  const { nameComponents = {}, lookupInfo = {} } = userIdentity;
  const name = [nameComponents.givenName, nameComponents.familyName].filter(Boolean).join(" ");
  return `${name || lookupInfo.emailAddress || lookupInfo.phoneNumber || "A person"}${acceptanceStatus === "ACCEPTED" ? "" : " (invited)"}`;
}
