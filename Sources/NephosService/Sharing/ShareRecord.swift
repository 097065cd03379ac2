import NephosCrypto
import NephosStorage
import NephosWire

/// The numbers under which roles, permissions and acceptance states are stored: the raw values of Apple's enumerations.
extension SharePermission {
    var number: Int64 {
        switch self {
        case .unknown: 0
        case .none: 1
        case .readOnly: 2
        case .readWrite: 3
        }
    }

    init(number: Int64) { self = Self.allCases.first { $0.number == number } ?? .unknown }
}

extension AcceptanceStatus {
    var number: Int64 {
        switch self {
        case .unknown: 0
        case .pending: 1
        case .accepted: 2
        case .removed: 3
        }
    }

    init(number: Int64) { self = Self.allCases.first { $0.number == number } ?? .unknown }
}

extension ParticipantRole {
    var number: Int64 {
        switch self {
        case .unknown: 0
        case .owner: 1
        case .administrator: 2
        case .privateUser: 3
        case .publicUser: 4
        }
    }

    init(number: Int64) { self = Self.allCases.first { $0.number == number } ?? .unknown }
}

extension ShareRow {
    var isZoneWide: Bool { root.isEmpty }
    var isLive: Bool { endedAt == 0 }

    /// The permission of an account that has only the share's URL.
    var openPermission: SharePermission {
        get { SharePermission(number: publicPermission) }
        set { publicPermission = newValue.number }
    }
}

extension ShareParticipantRow {
    /// The role of rows that are requests for access.
    static let requesterRole: Int64 = 10
    /// The role of rows that are blocked accounts.
    static let blockedRole: Int64 = 11

    var isParticipant: Bool { role < Self.requesterRole }
    var isRequester: Bool { role == Self.requesterRole }
    var isBlocked: Bool { role == Self.blockedRole }
    var hasAccepted: Bool { status == AcceptanceStatus.accepted.number }

    /// Whether the participant may change the share and see all of it. The permission `.none` gives no access.
    func isAdministrator(of share: ShareRow) -> Bool {
        hasAccepted && role == ParticipantRole.administrator.number && permission(in: share) != .none
    }

    /// The participant's current permission: `publicPermission` if the participant joined by the public URL.
    func permission(in share: ShareRow) -> SharePermission {
        ParticipantRole(number: role) == .publicUser ? share.openPermission : SharePermission(number: permission)
    }
}

/// The short GUIDs at the end of share URLs: a routing key of three base-62 digits, and 128 random bits in 22 digits.
/// Short GUIDs are secrets and must not be logged. The routing key identifies the store, which the URL does not name
/// otherwise; several stores may have the same routing key.
package enum ShortGUID {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    static func make(_ environment: ServiceEnvironment, in store: StoreID) -> String {
        var bits = environment.makeSecret().prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        var text = routingKey(store)
        for _ in 0..<22 {
            text.append(digits[Int(bits % 62)])
            bits /= 62
        }
        return text
    }

    static func routingKey(_ store: StoreID) -> String { routingKey(store.container, store.environment) }

    /// The routing key of a container and environment, with which their short GUIDs begin: a hash of the two names.
    package static func routingKey(_ container: String, _ environment: String) -> String {
        let hash = FNV1a("\(container)\u{0}\(environment)".utf8).value
        return String([0, 20, 40].map { digits[Int((hash >> $0) % 62)] })
    }
}

/// The addresses of invitations. In a service that verifies no addresses, an e-mail address belongs to the account of
/// that name, and `NAME@localhost` belongs to the account NAME.
enum InvitationAddress {
    /// The canonical spelling of an address; nil if the lookup info has none.
    static func canonical(_ info: UserLookupRequest.LookupInfo?) -> String? {
        guard let address = info?.emailAddress ?? info?.phoneNumber, !address.isEmpty else { return nil }
        return AccountName.canonical(address)
    }

    /// Whether the address is the account's. The case of an e-mail address does not matter.
    static func isAddress(_ address: String, of account: AccountRow) -> Bool {
        address == account.address || address.contains("@") && address.lowercased() == account.address
    }

    static func lookupInfo(_ address: String) -> UserLookupRequest.LookupInfo? {
        if address.isEmpty { return nil }
        if address.contains("@") { return UserLookupRequest.LookupInfo(emailAddress: address) }
        return address.first == "+"
            ? UserLookupRequest.LookupInfo(phoneNumber: address)
            : UserLookupRequest.LookupInfo(emailAddress: address + "@localhost")
    }
}

/// Adds the details that a share has besides its record to responses, as far as the caller may see them. Participants
/// see themselves and participants that accepted. The owner and administrators also see addresses, pending invitations,
/// requests and blocked accounts.
struct ShareDetails {
    let account: AccountRow?
    let accounts: Accounts
    let reader: StorageReader

    /// The details of the share with this record name; nil if the share has ended.
    func dictionary(zone: ZoneKey, named name: String) throws -> ShareDictionary? {
        guard let share = try reader.share(zone: zone, named: name) else { return nil }
        return try dictionary(share)
    }

    func dictionary(_ share: ShareRow) throws -> ShareDictionary {
        let rows = try reader.participants(share: share.id)
        let isOwner = account?.id == share.zone.owner.rawValue
        let own = account.flatMap { account in rows.first { $0.isOf(account) } }
        let seesAll = isOwner || own.map { $0.isAdministrator(of: share) } ?? false
        let owner = try ownerDictionary(share)
        var dictionary = ShareDictionary(
            shortGUID: share.guid, publicPermission: share.openPermission, participants: [owner], owner: owner,
            deniesAccessRequests: !share.allowsRequests,
            rootRecordName: share.isZoneWide ? nil : share.root)
        for row in rows where row.isParticipant && (seesAll || row.hasAccepted || row.id == own?.id) {
            let participant = try participant(row, share, withAddress: seesAll)
            dictionary.participants.append(participant)
            if row.id == own?.id { dictionary.currentUserParticipant = participant }
        }
        if isOwner { dictionary.currentUserParticipant = owner }
        dictionary.hasKeys = try StoredGroupKeys.hasKey(share, reader)
        if seesAll {
            dictionary.wantsKeys =
                try GroupState.read(StoredGroupKeys.group(of: share), share.zone, reader).attention > 0
        }
        if seesAll {
            dictionary.requesters = try rows.filter(\.isRequester).map { try identity($0, withAddress: true) }
            dictionary.blocked = try rows.filter(\.isBlocked).map { try identity($0, withAddress: true) }
        }
        return dictionary
    }

    /// The identity of an account as other accounts see it.
    /// - Parameter isNamed: whether the identity includes the account's name.
    func identity(_ account: Int64, isNamed: Bool = true) throws -> UserIdentityDictionary {
        var identity = UserIdentityDictionary(
            userRecordName: try accounts.userRecordName(id: account, reader), hasAccount: true)
        if isNamed, let name = try reader.liveAccount(id: account)?.name { identity.givenName = Self.givenName(name) }
        return identity
    }

    /// The given name of an account, which is the account's name: the service has no other names. Nil for an address,
    /// which not every caller may see.
    static func givenName(_ accountName: String) -> String? {
        accountName.contains("@") || accountName.first == "+" || AccountID.isOne(accountName) ? nil : accountName
    }

    private func ownerDictionary(_ share: ShareRow) throws -> ParticipantDictionary {
        ParticipantDictionary(
            participantID: "owner-\(share.id)", userIdentity: try identity(share.zone.owner.rawValue), role: .owner,
            permission: .readWrite, acceptanceStatus: .accepted)
    }

    private func participant(
        _ row: ShareParticipantRow, _ share: ShareRow, withAddress: Bool
    ) throws -> ParticipantDictionary {
        ParticipantDictionary(
            participantID: row.id, userIdentity: try identity(row, withAddress: withAddress),
            role: ParticipantRole(number: row.role), permission: row.permission(in: share),
            acceptanceStatus: AcceptanceStatus(number: row.status), isApprovedRequester: row.isApprovedRequester,
            dateAdded: row.addedAt,
            oneTimeGUID: withAddress && !row.hasAccepted && !row.oneTimeGUID.isEmpty ? row.oneTimeGUID : nil)
    }

    private func identity(_ row: ShareParticipantRow, withAddress: Bool) throws -> UserIdentityDictionary {
        var identity =
            row.account == 0
            ? UserIdentityDictionary(hasAccount: false)
            // By accepting or by requesting access, an account reveals its name.
            : try self.identity(row.account, isNamed: row.hasAccepted || !row.isParticipant)
        if withAddress { identity.lookupInfo = InvitationAddress.lookupInfo(row.address) }
        return identity
    }
}

extension ShareParticipantRow {
    /// Whether the row belongs to the account, by the account's ID or by an invited address of the account.
    func isOf(_ account: AccountRow) -> Bool {
        self.account == account.id
            || self.account == 0 && !address.isEmpty && InvitationAddress.isAddress(address, of: account)
    }
}
