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
