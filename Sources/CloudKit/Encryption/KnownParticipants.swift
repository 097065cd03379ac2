import NephosCrypto
import NephosWire

/// The participants of a share that may have its key, as a device signed them and the service shows them.
struct KnownParticipants: Hashable, Sendable {
    /// The last list; nil if there is none, or if its signature is invalid.
    private(set) var list: ParticipantList?
    /// The number of the last list, valid or not; 0 if there is none.
    private(set) var number: Int64 = 0
    /// The unsigned participants: a caller without keys added them, and no device has signed a list with them since. The
    /// empty identifier stands for all accounts that have the share's URL.
    private(set) var unsigned: Set<String>
    /// Whether every account that has the share's URL may join.
    private(set) var isOpen: Bool

    init(_ answer: KeysResponse, _ proof: GroupProof) {
        unsigned = Set(answer.unsigned)
        isOpen = answer.isOpen
        guard let bytes = answer.participants else { return }
        let last = ParticipantList(bytes, for: proof.group)
        // The service sends this number: `.max` would leave no next one.
        number = min(last?.number ?? .max, .max - 1)
        list = last.flatMap { proof.isGenuine($0, answer.group) ? $0 : nil }
    }

    /// Whether the last list covers exactly these participants, and none of them has gained access unsigned since.
    func covers(exactly participants: Set<String>, isOpen: Bool) -> Bool {
        unsigned.isDisjoint(with: participants) && !(isOpen && unsigned.contains(Self.everyone))
            && (list?.participants ?? []) == participants && (list?.isOpen ?? false) == isOpen
    }

    static let everyone = ""
}

/// The participants of a share that get the share's key without a person's decision.
struct Coverage: Hashable, Sendable {
    var participants: Set<String> = []
    var isOpen = false

    func covers(_ member: KeysResponse.Member) -> Bool {
        participants.contains(member.participantID) || isOpen && member.joinedByURL
    }
}

extension KeptKeys.WaitingGroup {
    init(_ name: KeyRing.GroupName) {
        self.init(zoneName: name.zone.name, owner: name.zone.owner, group: name.group)
    }
}

extension KeyRing {
    /// Returns the participants that get the key of a group: the present ones of the last signed list that are not marked
    /// as unsigned. Without a list, the owner's device trusts the first participants that
    /// the service names, but for those. A service that escrows the keys is trusted with the participants, too.
    /// - Parameter accepted: the user record name of an account that a person has accepted; nil for none.
    func coverage(
        _ answer: KeysResponse, _ keys: GroupKeys, isOwn: Bool, accepted: String?, _ device: DeviceIdentity
    ) -> Coverage {
        let present = Set(answer.members.map(\.participantID))
        let invited = Set(answer.members.filter { !$0.joinedByURL }.map(\.participantID))
        if device.kept == nil { return Coverage(participants: invited, isOpen: answer.isOpen) }
        let unsigned = Set(answer.unsigned)
        let isOpen = answer.isOpen && !unsigned.contains(KnownParticipants.everyone)
        var coverage = Coverage()
        if let list = keys.participants?.list {
            coverage = Coverage(
                participants: list.participants.intersection(present).subtracting(unsigned),
                isOpen: list.isOpen && isOpen)
        } else if isOwn, answer.participants == nil {
            coverage = Coverage(participants: invited.subtracting(unsigned), isOpen: isOpen)
        }
        for member in answer.members where member.userRecordName == accepted && accepted != nil {
            coverage.participants.insert(member.participantID)
        }
        return coverage
    }

    /// Returns the next signed list of a group's participants; nil if the last one covers the same and stays valid, or if
    /// this device may not sign.
    /// - Parameter first: the first version of the group's key if the service does not have it yet.
    func nextList(
        _ coverage: Coverage, _ keys: GroupKeys, first: WrappedGroupKey?, isOwn: Bool, ownersAccountKey: [UInt8],
        isForced: Bool = false, _ place: GroupPlace, _ device: DeviceIdentity
    ) -> [UInt8]? {
        guard isOwn || device.list.hashes.first.map(keys.administrators.contains) == true,
            let keyID = keys.ids[1] ?? first.map({ GroupKeyID.of(box: $0.box) })
        else { return nil }
        let known = keys.participants
        let isSame =
            known?.covers(exactly: coverage.participants, isOpen: coverage.isOpen)
            ?? (coverage.participants.isEmpty && !coverage.isOpen)
        // The owner's device takes over what an administrator or a former device signed.
        let isValid =
            known?.list.map {
                $0.accountKey == ownersAccountKey && (!isOwn || device.list.isListed($0.signer))
            } ?? true
        if isSame, isValid, !isForced { return nil }
        let list = ParticipantList(
            number: (known?.number ?? 0) + 1, keyID: keyID, accountKey: ownersAccountKey, isOpen: coverage.isOpen,
            participants: coverage.participants)
        return list.signed(by: device.signing, for: place)
    }

    /// Returns the signed list of the participants that the save of a share gives access; nil if the last list covers
    /// the same, or if this device does not know the group's key, or may not sign.
    /// - Parameter isForced: whether the service asked for a list.
    func signedParticipants(
        of share: ShareToModify, _ name: GroupName, isForced: Bool
    ) async -> [UInt8]? {
        guard let keys = groups[name], let wishes = share.participants, let device = try? await device() else {
            return nil
        }
        let known = keys.participants
        var coverage = Coverage(isOpen: known?.isOpen ?? false)
        if let permission = share.publicPermission, permission != .unknown { coverage.isOpen = permission != .none }
        for wish in wishes where wish.role != .owner && wish.permission != SharePermission.none {
            guard let id = wish.participantID else { continue }
            // An account that joined by the URL is covered by its identifier only if a person accepted it.
            if wish.role == .publicUser, known?.list?.participants.contains(id) != true { continue }
            coverage.participants.insert(id)
        }
        return nextList(
            coverage, keys, first: nil, isOwn: name.zone.owner == nil, ownersAccountKey: keys.ownersAccountKey,
            isForced: isForced, GroupPlace(zone: place(of: name.zone, device), group: name.group), device)
    }

    /// Fetches the keys of a group of another owner's, whose share an administrator saves.
    /// - Returns: whether this device may sign the share's participants.
    func maySignParticipants(of name: GroupName) async throws(KeyFailure) -> Bool {
        let keys = try await keys(of: name, making: false).1
        let device = try await device()
        return device.list.hashes.first.map(keys.administrators.contains) == true
    }
}
