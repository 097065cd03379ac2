/// `shares/list` of Nephos' own routes: the shares of one account's records, or of every account's.
package struct ListSharesRequest: Hashable, Sendable {
    /// The owner's account name; nil for every account.
    package var account: String?

    package init(account: String? = nil) { self.account = account }
}

package struct AccountShare: Hashable, Sendable {
    package struct Participant: Hashable, Sendable {
        /// The account's name, or the invited address.
        package var name: String
        package var role: String
        package var permission: String
        package var status: String

        package init(name: String, role: String, permission: String, status: String) {
            self.name = name
            self.role = role
            self.permission = permission
            self.status = status
        }
    }

    package var account: String
    package var zoneName: String
    package var recordName: String
    /// Nil if the zone is shared.
    package var rootRecordName: String?
    package var shortGUID: String
    package var publicPermission: String
    package var participants: [Participant]

    package init(
        account: String, zoneName: String, recordName: String, rootRecordName: String?, shortGUID: String,
        publicPermission: String, participants: [Participant]
    ) {
        self.account = account
        self.zoneName = zoneName
        self.recordName = recordName
        self.rootRecordName = rootRecordName
        self.shortGUID = shortGUID
        self.publicPermission = publicPermission
        self.participants = participants
    }
}

package struct AccountSharesResponse: Hashable, Sendable {
    package var shares: [AccountShare]

    package init(shares: [AccountShare]) { self.shares = shares }
}

/// `access/explain` of Nephos' own routes: an account's permissions on a record, and the reasons.
package struct ExplainAccessRequest: Hashable, Sendable {
    package var account: String
    /// The account that owns the record's private database.
    package var owner: String
    package var zoneName: String
    package var recordName: String

    package init(account: String, owner: String, zoneName: String, recordName: String) {
        self.account = account
        self.owner = owner
        self.zoneName = zoneName
        self.recordName = recordName
    }
}

package struct ExplainAccessResponse: Hashable, Sendable {
    /// One sentence each.
    package var lines: [String]

    package init(lines: [String]) { self.lines = lines }
}

extension ListSharesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members() where "account" ~= key { account = try value.nonNull?.string() }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.endObject()
    }
}

extension AccountShare.Participant {
    init(json: JSONValue) throws(WireError) {
        self.init(name: "", role: "", permission: "", status: "")
        for (key, value) in try json.members("a participant") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "name": name = try value.string()
            case "type": role = try value.string()
            case "permission": permission = try value.string()
            case "acceptanceStatus": status = try value.string()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("type", role)
        writer.member("permission", permission)
        writer.member("acceptanceStatus", status)
        writer.endObject()
    }
}

extension AccountShare {
    init(json: JSONValue) throws(WireError) {
        self.init(
            account: "", zoneName: "", recordName: "", rootRecordName: nil, shortGUID: "", publicPermission: "",
            participants: [])
        for (key, value) in try json.members("a share") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "account": account = try value.string()
            case "zoneName": zoneName = try value.string()
            case "recordName": recordName = try value.string()
            case "rootRecordName": rootRecordName = try value.string()
            case "shortGUID": shortGUID = try value.string()
            case "publicPermission": publicPermission = try value.string()
            case "participants":
                participants = try value.elements("an array of participants", Participant.init(json:))
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("zoneName", zoneName)
        writer.member("recordName", recordName)
        writer.member("rootRecordName", rootRecordName)
        writer.member("shortGUID", shortGUID)
        writer.member("publicPermission", publicPermission)
        writer.key("participants")
        writer.beginArray()
        for participant in participants { participant.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension AccountSharesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            shares: try json.required("shares", "an array") { (shares) throws(WireError) in
                try shares.elements("an array of shares", AccountShare.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("shares")
        writer.beginArray()
        for share in shares { share.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension ExplainAccessRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        func text(_ name: StaticString) throws(WireError) -> String {
            try json.required(name, "a string") { (json) throws(WireError) in try json.string() }
        }
        self.init(
            account: try text("account"), owner: try text("owner"), zoneName: try text("zoneName"),
            recordName: try text("recordName"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("owner", owner)
        writer.member("zoneName", zoneName)
        writer.member("recordName", recordName)
        writer.endObject()
    }
}

extension ExplainAccessResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            lines: try json.required("lines", "an array") { (json) throws(WireError) in try json.arrayOfStrings() })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("lines", lines)
        writer.endObject()
    }
}
