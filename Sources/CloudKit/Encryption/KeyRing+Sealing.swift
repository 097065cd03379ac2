import NephosCrypto
import NephosWire

/// The choice of the keys that seal the values of records.
extension KeyRing {
    /// A record with values that are to be sealed.
    struct RecordToSeal: Sendable {
        var name: String
        /// The name of the record's parent after the save; nil for none.
        var parent: String?
        /// Whether the save creates the record. An existing record may have a key already, which it continues to use.
        var isNew: Bool
    }

    /// The key that seals the values of a record.
    struct SealingKey: Sendable {
        var key: RecordKey
        /// The wrapped key to send to the service; nil if the service already has the key.
        var wrapped: WrappedRecordKey?
        /// The new key to cache once a record is saved with it; nil if the key is not new.
        var made: KnownKey?
    }

    /// A record that was saved, with the key that sealed its values.
    struct SavedKey: Sendable {
        var key: KnownKey
        var recordName: String
        var zone: KeyZone
    }

    /// Returns the keys that seal the values of records.
    /// - Returns: a key or a failure for each record, and the context of the zone. One call covers all records, because
    ///   each call from outside the actor costs a hop.
    /// - Throws: a failure that concerns all records.
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
        // Looks up each group once, even a group without a key.
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

    /// Returns the group whose key wraps the key of a record, as far as it is known; the empty name stands for the
    /// zone.
    /// - Parameter present: the keys that the record has.
    private func group(of record: RecordToSeal, in zone: KeyZone, _ present: [KnownKey]) -> String {
        group(of: record.name, parent: record.parent, in: zone) ?? present.last { !$0.group.isEmpty }?.group ?? ""
    }

    /// Returns the key that seals the values of one record.
    /// - Parameter present: the keys that the record has.
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
        // Without the group's key, the service refuses the record and names the group.
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

    /// Returns the keys of records, and the context of their zone.
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

    /// Whether the failure concerns a single group, so that the keys of other groups may still be available.
    fileprivate var isOfOneGroup: Bool {
        switch self {
        case .invalid, .service(.transport(.zoneBusy, _, _)): true
        case .service: false
        }
    }
}
