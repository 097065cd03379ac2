import NephosStorage

/// What an adoption makes of the addresses of invitations. Sign-in names are in lower case, so an invitation of `Ada` is
/// one of `ada`.
struct AdoptedAddresses: Sendable {
    /// A change of a share's participants.
    enum Change: Hashable {
        case put(ShareParticipantRow)
        case remove(ShareParticipantRow)
    }

    /// The sign-in names by the names of `nephos dev`.
    private let exact: [String: String]
    /// The sign-in names by lower-case names. Ambiguous names have none.
    private let canonical: [String: String]

    init(_ decided: [String: AdoptedName]) {
        exact = decided.mapValues(\.signInName)
        let groups = Dictionary(grouping: exact) { SignInName.canonical($0.key) }
        canonical = groups.compactMapValues { $0.count == 1 ? $0[0].value : nil }
    }

    /// Returns the address that replaces an invitation's.
    func address(_ address: String) -> String {
        let name = SignInName.canonical(address)
        return exact[address] ?? canonical[name] ?? name
    }

    /// Returns the changes of the rows that were invited by an address. Of those of a share that have one address then,
    /// one stays: one that accepted, or else the one that may do most.
    func changes(_ rows: [ShareParticipantRow]) -> [Change] {
        let groups = Dictionary(grouping: rows) { Invitation(share: $0.share, address: address($0.address)) }
        return groups.sorted { $0.key < $1.key }.flatMap { invitation, rows -> [Change] in
            let rows = rows.sorted(by: Self.precedes)
            return rows.enumerated().compactMap { index, row in
                if index > 0, row.isPendingInvitation { return .remove(row) }
                if row.address == invitation.address { return nil }
                var row = row
                row.address = invitation.address
                return .put(row)
            }
        }
    }

    private static func precedes(_ row: ShareParticipantRow, _ other: ShareParticipantRow) -> Bool {
        func rank(_ row: ShareParticipantRow) -> (Int64, Int64, String) {
            (row.isPendingInvitation ? 1 : 0, -row.permission, row.id)
        }
        return rank(row) < rank(other)
    }

    private struct Invitation: Hashable, Comparable {
        var share: Int64
        var address: String

        static func < (one: Self, other: Self) -> Bool { (one.share, one.address) < (other.share, other.address) }
    }
}

extension ShareParticipantRow {
    /// Whether the row is an invitation that no account has taken.
    fileprivate var isPendingInvitation: Bool { isParticipant && account == 0 }
}
