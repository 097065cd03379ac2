import NephosCrypto
import NephosWire

/// The keys that seal records.
extension KeyRing {
    /// A record with values to seal.
    struct RecordToSeal: Sendable {
        var name: String
        /// The record's parent after the save.
        var parent: String?
        /// Whether the record is to be created: an existing record may have a key already, and continues to use it.
        var isNew: Bool
    }

    /// The key that seals a record's values.
    struct SealingKey: Sendable {
        var key: RecordKey
        /// The wrapped key to send to the service; nil if the key is not new.
        var wrapped: WrappedRecordKey?
        /// The new key to remember once the record is saved with it.
        var made: KnownKey?
    }

    /// A key with which a record was saved.
    struct SavedKey: Sendable {
        var key: KnownKey
        var recordName: String
        var zone: KeyZone
    }

    /// - Returns: a key or a failure for each record, and the zone's context. One call covers all records, because
    ///   callers outside the actor pay for each hop.
    /// - Throws: a failure of all the records.
    func keysToSeal(
        _ records: [RecordToSeal], in zone: KeyZone
    ) async throws(KeyFailure) -> ([Result<SealingKey, KeyFailure>], ZonePlace) {
        var known = RecordKeys()
        if !isPerZone(zone) {
            let existing = records.filter { !$0.isNew }.map { ($0.name, Set<[UInt8]>()) }
            known = try await keys(ofRecords: Dictionary(existing) { $1 }, in: zone)
        }
        var results: [Result<SealingKey, KeyFailure>] = []
        results.reserveCapacity(records.count)
        // Look up each group once, even if it has no key.
        var failures: [String: KeyFailure] = [:]
        for record in records {
            let present = known.keys[record.name] ?? []
            let group = group(of: record, in: zone, present)
            if let failure = failures[group] {
                results.append(.failure(failure))
                continue
            }
            do throws(KeyFailure) {
                results.append(.success(try await keyToSeal(record, in: zone, present)))
            } catch {
                guard error.isOfOneGroup else { throw error }
                failures[group] = error
                results.append(.failure(error))
            }
        }
        return (results, place(of: zone, try await device()))
    }

    /// Returns the group whose key wraps a record's key, as far as it is known; empty means the zone.
    /// - Parameter present: the record's keys.
    private func group(of record: RecordToSeal, in zone: KeyZone, _ present: [KnownKey]) -> String {
        group(of: record.name, parent: record.parent, in: zone) ?? present.last { !$0.group.isEmpty }?.group ?? ""
    }

    /// - Parameter present: the record's keys.
    private func keyToSeal(
        _ record: RecordToSeal, in zone: KeyZone, _ present: [KnownKey]
    ) async throws(KeyFailure) -> SealingKey {
        let isLearnt = group(of: record.name, parent: record.parent, in: zone) != nil
        let group = group(of: record, in: zone, present)
        let (place, groupKeys) = try await keys(of: GroupName(zone: zone, group: group), making: true)
        if isLearnt, groupKeys.isEmpty, dropOutdatedGroup(of: record.name, parent: record.parent, in: zone) {
            return try await keyToSeal(record, in: zone, present)
        }
        if let zoneKey = groupKeys.recordKeys.last, zoneKey.version == groupKeys.current {
            return SealingKey(key: zoneKey.key)
        }
        let own = present.last { $0.group == group && $0.version == groupKeys.current && !$0.isInherited }
        if let own { return SealingKey(key: own.key) }
        let key = RecordKey.random()
        var wrapped: WrappedRecordKey?
        if let groupKey = groupKeys.currentKey, !groupKeys.isPerZone {
            wrapped = key.wrapped(under: groupKey, version: groupKeys.current, recordName: record.name, in: place)
            wrapped?.groupKeyID = groupKeys.ids[groupKeys.current] ?? []
        } else if isLearnt {
            throw .keyHasNotArrived(advice(onKeysOf: zone))
        }
        // Without the group's key the service refuses the record and names the group.
        return SealingKey(
            key: key, wrapped: wrapped,
            made: KnownKey(key: key, group: group, version: groupKeys.current, isInherited: false))
    }

    func remember(_ saved: [SavedKey]) {
        for saved in saved {
            remember(saved.key, ofRecord: saved.recordName, in: saved.zone)
            learn(saved.key.group, of: saved.recordName, in: saved.zone)
        }
    }

    /// Returns the keys of records, and their zone's context.
    func keysToOpen(
        _ names: [String: Set<[UInt8]>], in zone: KeyZone
    ) async throws(KeyFailure) -> (RecordKeys, ZonePlace) {
        let keys = try await keys(ofRecords: names, in: zone)
        return (keys, place(of: zone, try await device()))
    }
}

extension KeyFailure {
    fileprivate static func keyHasNotArrived(_ advice: String) -> KeyFailure {
        .service(
            .transport(
                .zoneBusy, "The key of what is shared has not arrived: \(advice)",
                retryAfter: DatabaseRequestContext.keyRetryAfter))
    }

    /// Whether the failure concerns a single group, so that records of other groups may still have keys.
    fileprivate var isOfOneGroup: Bool {
        switch self {
        case .invalid, .service(.transport(.zoneBusy, _, _)): true
        case .service: false
        }
    }
}
