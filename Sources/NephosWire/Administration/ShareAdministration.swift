/// The request of `shares/list`, one of Nephos' own routes: the shares of one account's records, or of all accounts'
/// records.
package struct ListSharesRequest: Hashable, Sendable {
    /// The owner's account name; nil for all accounts.
    package var account: String?

    package init(account: String? = nil) { self.account = account }
}

package struct AccountShare: Hashable, Sendable {
    package struct Participant: Hashable, Sendable {
        /// The name of the participant's account, or the invited address; empty if the caller may not see the address.
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
    /// The record name of the hierarchy's root; nil if the zone is shared.
    package var rootRecordName: String?
    /// Empty if the caller may not read private records.
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

/// The request of `access/explain`, one of Nephos' own routes: an account's permissions on a record, and the reasons.
package struct ExplainAccessRequest: Hashable, Sendable {
    package var account: String
    /// The name of the account that owns the record's private database.
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
    /// The explanation's lines, each one sentence.
    package var lines: [String]

    package init(lines: [String]) { self.lines = lines }
}

extension ListSharesRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .optional("account", \.account, .string))
}

extension AccountShare.Participant {
    fileprivate static let codec = Codec<Self>(
        as: "a participant", Self.init,
        .member("name", \.name, .string, ifAbsent: ""),
        .member("type", \.role, .string, ifAbsent: ""),
        .member("permission", \.permission, .string, ifAbsent: ""),
        .member("acceptanceStatus", \.status, .string, ifAbsent: ""))
}

extension AccountShare {
    fileprivate static let codec = Codec<Self>(
        as: "a share", Self.init,
        .member("account", \.account, .string, ifAbsent: ""),
        .member("zoneName", \.zoneName, .string, ifAbsent: ""),
        .member("recordName", \.recordName, .string, ifAbsent: ""),
        .optional("rootRecordName", \.rootRecordName, .string),
        .member("shortGUID", \.shortGUID, .string, ifAbsent: ""),
        .member("publicPermission", \.publicPermission, .string, ifAbsent: ""),
        .member(
            "participants", \.participants, .array("an array of participants", of: Participant.codec), ifAbsent: []))
}

extension AccountSharesResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("shares", \.shares, .array("an array of shares", of: AccountShare.codec)))
}

extension ExplainAccessRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("account", \.account, .string), .required("owner", \.owner, .string),
        .required("zoneName", \.zoneName, .string), .required("recordName", \.recordName, .string))
}

extension ExplainAccessResponse: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .required("lines", \.lines, .strings))
}
