import NephosCrypto
import NephosStorage
import NephosWire

/// How roles, permissions and answers are stored: by the numbers of Apple's enumerations.
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

    /// What an account that has the URL may do.
    var openPermission: SharePermission {
        get { SharePermission(number: publicPermission) }
        set { publicPermission = newValue.number }
    }
}

extension ShareParticipantRow {
    /// The roles of rows that are no participants: of accounts that asked for access, and of those that may not any more.
    static let requesterRole: Int64 = 10
    static let blockedRole: Int64 = 11

    var isParticipant: Bool { role < Self.requesterRole }
    var isRequester: Bool { role == Self.requesterRole }
    var isBlocked: Bool { role == Self.blockedRole }
    var hasAccepted: Bool { status == AcceptanceStatus.accepted.number }

    /// Whether it may change the share and see everything of it: a permission of `.none` gives nothing.
    func isAdministrator(of share: ShareRow) -> Bool {
        hasAccepted && role == ParticipantRole.administrator.number && permission(in: share) != .none
    }

    /// What the participant may do now: one that came by the public URL, what `publicPermission` says.
    func permission(in share: ShareRow) -> SharePermission {
        ParticipantRole(number: role) == .publicUser ? share.openPermission : SharePermission(number: permission)
    }
}

/// The names by which a share's URL ends: a routing key of three digits of base 62, and 128 random bits in 22. They are
/// secrets, and stand in no log. The routing key is that of the store, which a URL does not name otherwise; stores may have
/// the same.
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

    /// The first three digits of what URLs in a container and environment end in: a hash of their names.
    package static func routingKey(_ container: String, _ environment: String) -> String {
        let hash = FNV1a("\(container)\u{0}\(environment)".utf8).value
        return String([0, 20, 40].map { digits[Int((hash >> $0) % 62)] })
    }
}

/// Where invitations go. In a service that proves no addresses an e-mail address is that of the account of that name, and
/// `NAME@localhost` that of NAME.
enum InvitationAddress {
    /// The address in one spelling; nil where a lookup info has none.
    static func canonical(_ info: UserLookupRequest.LookupInfo?) -> String? {
        guard let address = info?.emailAddress ?? info?.phoneNumber, !address.isEmpty else { return nil }
        return AccountName.canonical(address)
    }

    static func isAddress(_ address: String, of account: AccountRow) -> Bool { address == account.name }

    static func lookupInfo(_ address: String) -> UserLookupRequest.LookupInfo? {
        if address.isEmpty { return nil }
        if address.contains("@") { return UserLookupRequest.LookupInfo(emailAddress: address) }
        return address.first == "+"
            ? UserLookupRequest.LookupInfo(phoneNumber: address)
            : UserLookupRequest.LookupInfo(emailAddress: address + "@localhost")
    }
}

/// Puts what a share has besides its record into answers, as far as the caller may see it: participants see themselves and
/// those that accepted; addresses, pending invitations, requests and blocked accounts are for owner and administrators.
struct ShareDetails {
    let account: AccountRow?
    let accounts: Accounts
    let reader: StorageReader

    /// Nil for the record of a share that ended.
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

    /// How others see an account.
    /// - Parameter isNamed: whether they know its name.
    func identity(_ account: Int64, isNamed: Bool = true) throws -> UserIdentityDictionary {
        var identity = UserIdentityDictionary(
            userRecordName: try accounts.userRecordName(id: account, reader), hasAccount: true)
        if isNamed, let name = try reader.liveAccount(id: account)?.name { identity.givenName = Self.givenName(name) }
        return identity
    }

    /// What is known of an account in a service that has no other names. An address is not for every caller that sees a name.
    static func givenName(_ accountName: String) -> String? {
        accountName.contains("@") || accountName.first == "+" ? nil : accountName
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
            // A name is given with an acceptance, or a request.
            : try self.identity(row.account, isNamed: row.hasAccepted || !row.isParticipant)
        if withAddress { identity.lookupInfo = InvitationAddress.lookupInfo(row.address) }
        return identity
    }
}

extension ShareParticipantRow {
    /// Whether the row is about an account: known by it, or invited by an address of its.
    func isOf(_ account: AccountRow) -> Bool {
        self.account == account.id
            || self.account == 0 && !address.isEmpty && InvitationAddress.isAddress(address, of: account)
    }
}
