import NephosCrypto
import NephosStorage
import NephosWire

/// The key groups that a moved record enters and leaves.
struct KeyMove {
    /// The share that the record enters; empty for the zone itself.
    var group: String
    /// The share that the record leaves; nil if it leaves none.
    var left: String?
}

/// Decides whether the keys of a batch's values are wrapped for the records' readers, once the share of each record is
/// known:
///
/// - a new value is sealed with a key made for the record's group (its share or its zone) in the group's current
///   version, so an account that was removed, or that had the record before its move, lacks the key;
/// - the owner's new values need a version that is sealed for the owner's current account key, so a revoked device of the
///   owner's lacks it;
/// - values that are already stored may be sent again unchanged;
/// - the save of a record that enters a share brings the record's keys wrapped for the share, and the save of a record
///   that leaves a share brings them wrapped for the zone, as far as the commit reaches;
/// - the save of a share that adds participants brings their signed list (`ParticipantList`).
///
/// Violations are refused with `needsKeys`; our library then wraps the keys and retries. Other clients have no keys, so
/// the records that they move are noted for the owner's library (`GroupState`).
struct KeyPlan {
    let zone: ZoneKey
    let reader: StorageReader
    /// Whether the caller can wrap keys.
    let knowsKeys: Bool
    /// Returns the current account key of the zone's owner, if the owner saves; nil otherwise, and without keys.
    let ownersAccountKey: () throws -> [UInt8]?
    /// Returns the group that a record of this name has after the batch.
    let group: (String) throws -> String
    private var keys: [String: WrappedGroupKey?] = [:]
    /// The groups whose owner must wrap keys after the commit.
    private(set) var attention: Set<String> = []
    private var accountKey: [UInt8]??

    init(
        zone: ZoneKey, _ reader: StorageReader, knowsKeys: Bool, ownersAccountKey: @escaping () throws -> [UInt8]?,
        group: @escaping (String) throws -> String
    ) {
        self.zone = zone
        self.reader = reader
        self.knowsKeys = knowsKeys
        self.ownersAccountKey = ownersAccountKey
        self.group = group
    }

    /// - Parameters:
    ///   - moves: the groups that moved records enter and leave, by record name.
    ///   - toSign: the names of the shares whose save adds participants without a signed list.
    mutating func refuse(
        _ decisions: inout [ItemDecision], moves: [String: KeyMove], newShares: Set<String>, toSign: Set<String>
    ) throws {
        let lacking = try groupsWithoutKeys(moves, newShares)
        for (index, decision) in decisions.enumerated() {
            guard case .save(var save) = decision else { continue }
            do {
                if let use = save.keyUse { try check(use, &save) }
                let group =
                    moves[save.row.name]?.group ?? (newShares.contains(save.row.name) ? save.row.name : nil)
                if let group, lacking.contains(group) { throw Self.needsKeys(Self.lack(of: group), group) }
                if toSign.contains(save.row.name) {
                    throw Self.needsKeys(
                        "no device of the owner's, or of an administrator's that one of them named, has signed who takes"
                            + " part in the share '\(save.row.name)'", save.row.name)
                }
                if save.keyUse != nil { decisions[index] = .save(save) }
            } catch let error as ServiceError {
                decisions[index] = .refuse(error, server: nil)
            }
        }
    }

    // MARK: Values

    private mutating func check(_ use: RecordKeyUse, _ save: inout PlannedSave) throws {
        let name = save.row.name
        let group = try group(name)
        let current = try version(of: group)
        let isOutdated = try isForFormerAccountKey(group)
        let rows = try rowsOfBroughtKeys(use, name, group, current, isOutdated: isOutdated)
        let stored = try use.stored.map { try WrappedRecordKey(decoding: $0.body) }
        let fresh = Set(
            (stored + use.brought).filter {
                $0.group == group && $0.version == current && !$0.isInherited && !$0.isSpent && !isOutdated
            }.map(\.id))
        try refuseOldKeys(use, save, fresh: fresh, known: Set(stored.map(\.id)), group, isOutdated: isOutdated)
        save.keys = rows
        guard !rows.isEmpty, !stored.isEmpty else { return }
        let inUse = Self.keyIDs(in: save.row)
        save.droppedKeys = zip(use.stored, stored).compactMap { row, key in
            inUse.contains(key.id) || rows.contains(where: { $0.id == row.id }) ? nil : row
        }
        guard use.stored.count - save.droppedKeys.count + rows.count <= Limits.keysPerRecord else {
            throw ServiceError.limitExceeded(
                "record '\(name)' would have more than \(Limits.keysPerRecord) keys of encrypted values: set all of its"
                    + " encrypted fields and assets in one save, which seals them with one key")
        }
    }

    /// Returns the rows of the keys that a save brings. Refuses keys that are not wrapped under the group's current key.
    private mutating func rowsOfBroughtKeys(
        _ use: RecordKeyUse, _ name: String, _ group: String, _ current: Int64, isOutdated: Bool
    ) throws -> [KeyRow] {
        if isOutdated, !use.brought.isEmpty {
            throw Self.needsKeys(
                "record '\(name)': \(Self.keyOf(group)) is sealed for a former key of the account", group)
        }
        for key in use.brought where key.group != group || key.version != current || current == 0 {
            throw Self.needsKeys(
                "record '\(name)': a key is wrapped under version \(key.version) of \(Self.keyOf(key.group)), and"
                    + " \(group.isEmpty ? "the zone's" : "that of the share '\(group)'") is at \(current)", group)
        }
        let present = try key(of: group).map { GroupKeyID.of(box: $0.box) }
        for key in use.brought where !key.groupKeyID.isEmpty && key.groupKeyID != present {
            throw Self.needsKeys("record '\(name)': a key is wrapped under the key of a former zone or share", group)
        }
        let rows = use.brought.map { $0.row(zone: zone, recordName: name) }
        for row in rows {
            if let known = use.stored.first(where: { $0.id == row.id }), known != row {
                throw Self.needsKeys("record '\(name)' has another key of the ID already", group)
            }
        }
        return rows
    }

    private func refuseOldKeys(
        _ use: RecordKeyUse, _ save: PlannedSave, fresh: Set<[UInt8]>, known: Set<[UInt8]>, _ group: String,
        isOutdated: Bool, isPerZone: Bool = false
    ) throws {
        let old = use.used.filter { !fresh.contains($0.value.keyID) }
        let oldSeals = use.seals.filter { seal in seal.seal.keyID.map { !fresh.contains($0) } ?? true }
        if old.isEmpty && oldSeals.isEmpty { return }
        if !isPerZone, try PerZone.isSet(zone, reader) {
            let ids = try PerZone.keyIDs(zone, reader)
            return try refuseOldKeys(
                use, save, fresh: isOutdated ? [] : Set(ids.suffix(1)), known: Set(ids), group, isOutdated: isOutdated,
                isPerZone: true)
        }
        let before = save.stored.flatMap { try? EncodedFields(bytes: $0.fields).decoded() } ?? RecordFields()
        let areOld =
            old.allSatisfy { field, value in known.contains(value.keyID) && before[field]?.value == .sealed(value) }
            && oldSeals.allSatisfy { field, seal in
                seal.keyID.map(known.contains) == true
                    && before[field]?.value?.assets.contains { $0.seal == seal } == true
            }
        guard areOld else {
            throw Self.needsKeys(
                "record '\(save.row.name)' has a value whose key is not among the present ones of the record", group)
        }
    }

    private static func keyIDs(in row: RecordRow) -> Set<[UInt8]> {
        guard let fields = try? EncodedFields(bytes: row.fields).decoded() else { return [] }
        return Set(
            fields.entries.flatMap { $0.field.value?.assets ?? [] }.compactMap { $0.seal?.keyID }
                + fields.entries.compactMap { entry in
                    guard case .sealed(let sealed)? = entry.field.value,
                        sealed.bytes.count >= Limits.sealedValueOverhead
                    else { return nil }
                    return sealed.keyID
                })
    }

    // MARK: Records that enter or leave a share

    /// The groups that have no fresh key, or for which a moved record's keys are not wrapped. The zone's group is the
    /// empty string.
    private mutating func groupsWithoutKeys(
        _ moves: [String: KeyMove], _ newShares: Set<String>
    ) throws -> Set<String> {
        var missing: Set<String> = []
        for share in newShares where try !hasFreshKey(share == SystemRecordName.zoneWideShare ? "" : share) {
            missing.insert(share)
        }
        for (name, move) in moves where !missing.contains(move.group) {
            let keys = try reader.keys(zone: zone, kind: .recordKey, subject: name)
            let wrapped = Set(keys.filter { $0.isWrapped(for: move.group) }.map(\.recordKeyID))
            if keys.contains(where: { !wrapped.contains($0.recordKeyID) }) { missing.insert(move.group) }
        }
        if knowsKeys { return missing }
        attention.formUnion(missing.subtracting([""]))
        // A record that enters the zone is noted for the zone's owner on the share that the record leaves.
        if missing.contains("") { attention.formUnion(moves.values.compactMap { $0.group.isEmpty ? $0.left : nil }) }
        return []
    }

    /// Whether a new share has a key that no participant of a former share of the same name had.
    private mutating func hasFreshKey(_ group: String) throws -> Bool {
        let current = try version(of: group)
        return try current > 0 && GroupState.read(group, zone, reader).stale != current
    }

    private static func keyOf(_ group: String) -> String {
        group.isEmpty ? "the key of the zone" : "the key of the share '\(group)'"
    }

    /// Whether the group's current version is sealed for a former account key of the owner, which a revoked device has.
    private mutating func isForFormerAccountKey(_ group: String) throws -> Bool {
        guard let key = try key(of: group) else { return false }
        let present = try accountKey ?? ownersAccountKey()
        accountKey = .some(present)
        return present.map { $0 != key.recipient } ?? false
    }

    private static func lack(of group: String) -> String {
        group.isEmpty
            ? "records that leave a share have keys of encrypted values that are not wrapped for the zone"
            : "records that come under the share '\(group)' have keys of encrypted values that are not wrapped for it"
    }

    private mutating func version(of group: String) throws -> Int64 { try key(of: group)?.version ?? 0 }

    /// The current version of the group's key; nil if the group has no key.
    private mutating func key(of group: String) throws -> WrappedGroupKey? {
        if let known = keys[group] { return known }
        let key = try StoredGroupKeys.last(of: group, zone, reader)
        keys[group] = .some(key)
        return key
    }

    private static func needsKeys(_ reason: String, _ group: String) -> ServiceError {
        var error = ServiceError(.badRequest, .serverRejectedRequest, reason)
        error.needsKeys = true
        error.keyGroup = group == SystemRecordName.zoneWideShare ? "" : group
        return error
    }
}
