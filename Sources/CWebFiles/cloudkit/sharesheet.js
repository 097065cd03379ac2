// The sheet by which a person shares a record: a dialog of the page, made of plain elements. It is served apart.

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

const permissions = { READ_WRITE: "can make changes", READ_ONLY: "can look only" };

/** The share of one record, and the dialog that changes it. */
class ShareSheet {
  #database;
  #options;
  #names;
  /** @type {any} */ #record;
  /** @type {any} */ #share;
  /** @type {Map<string, string | null>} by ID of a participant the chosen permission, null for one to be removed */ #chosen = new Map();
  #dialog = element("dialog", { className: "cloudkit-share" });

  /** @param {Database} database @param {any} options @param {typeof ShareRecordType} names */
  constructor(database, options, names) {
    this.#database = database;
    this.#options = options;
    this.#names = names;
  }

  get #isOfAnother() { return this.#database.databaseScope === "SHARED"; }

  /** Whether the person may change the share: its owner, or one of its administrators. */
  get #mayChange() { return !this.#isOfAnother || this.#share?.currentUserParticipant?.type === "ADMINISTRATOR"; }

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
  }

  /** The participants to be, without the owner. */
  get #people() {
    return (this.#share?.participants ?? []).filter((one) => one.type !== "OWNER" && this.#chosen.get(one.participantId) !== null)
      .map((one) => ({ ...one, permission: this.#chosen.get(one.participantId) ?? one.permission }));
  }

  #show() {
    const { shareTitle } = this.#options;
    const supportedAccess = this.#options.supportedAccess ?? ["PUBLIC", "PRIVATE"];
    const supportedPermissions = this.#options.supportedPermissions ?? ["READ_WRITE", "READ_ONLY"];
    const open = ["READ_ONLY", "READ_WRITE"].includes(this.#share?.publicPermission);
    const access = choice("Access", { PRIVATE: "Only people you invite", PUBLIC: "Anyone with the link" }, supportedAccess,
      (this.#share ? !open : supportedAccess.includes("PRIVATE")) ? "PRIVATE" : "PUBLIC");
    const permission = choice("They", permissions, supportedPermissions,
      open ? this.#share.publicPermission : supportedPermissions[0]);
    const address = element("input", { type: "email", placeholder: "name@example.org", ariaLabel: "E-mail address" });
    const button = (textContent, onclick) => element("button", { type: "button", textContent, onclick });
    const alert = element("p", { role: "alert" });
    let isChanged = false;
    const fail = async (error) => {
      alert.textContent = error.reason ?? String(error);
      // Then "Done" closes, and does not save again.
      isChanged = false;
      if (!["CONFLICT", "NOT_FOUND"].includes(error.ckErrorCode)) return;
      await this.#fetch();
      list();
      alert.textContent = "Somebody else changed this meanwhile, and nothing of yours was saved. Save again to keep it.";
    };
    const change = (task, then) => () => task().then(then, fail).catch(() => {});
    const show = () => this.#show();
    const save = async () => {
      if (!address.checkValidity()) throw `“${address.value}” is no e-mail address.`;
      return this.#save(access.select.value, permission.select.value, address.disabled ? "" : address.value.trim());
    };
    // Whoever has the link is in.
    const invite = () => { address.disabled = access.select.value === "PUBLIC"; };
    invite();
    access.select.onchange = invite;
    const saving = change(save, show);
    address.onkeydown = (event) => { if (event.key === "Enter" && !event.isComposing) saving(); };
    const close = () => this.#dialog.close();
    const people = element("ul", {});
    const list = () => people.replaceChildren(...this.#people.map((one) => {
      const { select } = choice("", permissions, supportedPermissions, one.permission);
      select.ariaLabel = "Permission";
      select.onchange = () => { this.#chosen.set(one.participantId, select.value); };
      if (!this.#mayChange) return element("li", {}, nameOf(one));
      return element("li", {}, nameOf(one) + " ", select, " ", button("Remove", () => {
        this.#chosen.set(one.participantId, null);
        isChanged = true;
        list();
      }));
    }));
    list();
    this.#dialog.oninput = this.#dialog.onchange = () => { isChanged = true; };
    const stop = change(() => this.#stop(), this.#isOfAnother ? close : show);
    const controls = this.#mayChange ? [access.row, permission.row, people, element("p", {}, element("label", {}, "Invite ", address))] : [people];
    this.#dialog.replaceChildren(
      element("h2", { textContent: `Share ${shareTitle ?? "this"}` }), ...controls, alert,
      element("p", {}, this.#link()), element("p", {}, ...(this.#mayChange ? [button(this.#share ? "Save" : "Share", saving), " "] : []),
        ...(this.#share ? [button(this.#isOfAnother ? "Leave" : "Stop sharing", stop), " "] : []),
        button("Done", () => (this.#share && this.#mayChange && isChanged ? change(save, close)() : close()))));
  }

  /** The share's address; nothing before there is one. */
  #link() {
    if (!this.#share) return "";
    return element("input", { readOnly: true, value: this.#database.shareURL(this.#share.shortGUID), ariaLabel: "Link" });
  }

  /** @param {string} access @param {string} permission of all with the link, and of the person added @param {string} emailAddress of one more person; empty for none */
  async #save(access, permission, emailAddress) {
    const added = emailAddress ? [{ userIdentity: { lookupInfo: { emailAddress } }, type: "USER", permission }] : [];
    const participants = [...this.#people, ...added];
    const { shareTitle, shareType, shareThumbnail, zoneID } = this.#options;
    const fields = {
      [this.#names.TITLE_FIELD_NAME]: { value: shareTitle }, [this.#names.TYPE_FIELD_NAME]: { value: shareType },
      [this.#names.THUMBNAIL_IMAGE_DATA_FIELD_NAME]: { value: shareThumbnail, type: "BYTES" },
    };
    const { recordName, recordChangeTag } = this.#share ?? {};
    first(await this.#database.saveRecords({
      recordType: this.#names.NAME, recordName, recordChangeTag, participants,
      publicPermission: access === "PUBLIC" ? permission : "NONE",
      fields,
      ...(!this.#share && { forRecord: { recordName: this.#record.recordName, recordChangeTag: this.#record.recordChangeTag } }),
    }, { zoneID }));
    this.#chosen.clear();
    await this.#fetch();
  }

  async #stop() {
    first(await this.#database.deleteRecords(this.#share.recordName, { zoneID: this.#options.zoneID }));
    this.#share = undefined;
    // Who left sees the record no more.
    if (!this.#isOfAnother) await this.#fetch();
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
