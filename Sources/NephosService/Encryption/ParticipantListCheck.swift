import NephosCrypto
import NephosStorage
import NephosWire

/// Verifies the signed list of participants that the owner of a share, or an administrator, brings: as the next version
/// of the group's key, it has the next number, is for the owner's present account key, and is signed by a device on the
/// caller's list; a device of the owner's has named an administrator that brings one.
struct ParticipantListCheck {
    let group: GroupPlace
    let zone: ZoneKey
    let standing: KeyStanding
    /// The caller's account, and that of the owner.
    let account: AccountRow
    let owner: AccountRow
    let lists: DeviceLists
    let reader: StorageReader

    /// - Parameter first: the first version of the group's key if the same request brings it.
    /// - Returns: nil if another device signed the list of that number first.
    func check(_ bytes: [UInt8], first: WrappedGroupKey? = nil) throws -> SignedParticipants? {
        guard bytes.count <= Limits.participantListSize, let list = ParticipantList(bytes, for: group),
            list.participants.count <= Limits.shareParticipants, list.participants.allSatisfy(Self.isIdentifier)
        else { throw ServiceError.invalid("the list of participants has not the form of one") }
        let stored = try StoredParticipants.list(of: group.group, zone, reader)
        let last = stored.flatMap { ParticipantList($0, for: group, isChecked: true) }
        guard list.number == (last?.number ?? 0) + 1 else { return nil }
        let key = try StoredGroupKeys.all(of: group.group, zone, reader).first ?? first
        let (devices, owner) = (try lists.list(of: account), try lists.list(of: owner))
        guard list.accountKey == owner.accountKey, list.keyID == key.map({ GroupKeyID.of(box: $0.box) }) else {
            throw ServiceError.invalid(
                "the list of participants is not for the group's key, or not for its owner's present account key")
        }
        guard devices.isListed(list.signer) else { throw ServiceError.unlistedDevice }
        if standing == .administrator {
            try StoredGroupKeys.checkNamed(devices, of: group.group, zone, owner, reader)
        } else if standing != .owner {
            throw ServiceError.shareRefusal("only the owner of what is shared, and administrators, sign who takes part")
        }
        return SignedParticipants(list: list, bytes: bytes)
    }

    private static func isIdentifier(_ id: String) -> Bool {
        (1...Limits.participantIDLength).contains(id.utf8.count) && id.isStorable
    }
}

extension StoredGroupKeys {
    /// Stores the device list of an administrator who signs for a group.
    static func putSigner(
        _ account: AccountRow, of group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        let entries = try AccountKeys.entries(of: account, transaction)
        try transaction.put(
            row(
                GroupSigner(userRecordName: account.userRecordName, entries: entries), account: account.id, of: group,
                zone))
    }
}
