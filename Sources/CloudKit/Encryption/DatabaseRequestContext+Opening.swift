import Foundation
import NephosCrypto
import NephosWire
import Synchronization

extension CKRecord {
    /// Whether the record has an encrypted field.
    var hasEncryptedFields: Bool { state.withLock { $0.fields.hasEncrypted } }
}

/// The reason why a record could not be opened.
struct Unopened: Sendable {
    var error: CKError
    /// Whether a later fetch may open the record, once its key or the approval of this device arrives.
    var mayOpenLater = false
    /// Whether the service has no key for a value of the record.
    var lacksKey = false
}

extension DatabaseRequestContext {
    /// Decrypts the encrypted fields of records from the service, and gives sealed assets the keys of their files. A
    /// record without either costs only a scan of its fields.
    /// - Returns: the reason for each record that could not be opened. Callers must not hand such records to the app.
    /// - Throws: an error if no key could be fetched. On a device without keys, each record fails instead.
    func openEncryptedFields(of records: [CKRecord]) async throws(CKError) -> [CKRecord.ID: Unopened] {
        await addLinks(to: records)
        let encrypted = records.filter(\.hasSealedContent)
        if encrypted.isEmpty { return [:] }
        guard call.scope != .public else {
            return Dictionary(
                encrypted.map { ($0.recordID, notOpen($0, "the public database has none")) }
            ) { $1 }
        }
        var failures: [CKRecord.ID: Unopened] = [:]
        let zones = Dictionary(grouping: encrypted) { KeyZone($0.recordID.zoneID, call.scope) }
        for (zone, records) in zones.sorted(by: { $0.key < $1.key }) {
            failures.merge(try await open(records, in: zone)) { $1 }
        }
        return failures
    }

    private func open(_ records: [CKRecord], in zone: KeyZone) async throws(CKError) -> [CKRecord.ID: Unopened] {
        let sealed = records.map(SealedRecord.init)
        var needed: [String: Set<[UInt8]>] = [:]
        for record in sealed {
            let ids = record.fields.compactMap { $0.value.flatMap(RecordKey.id(of:)) } + record.assets.keyIDs
            if !ids.isEmpty { needed[record.recordName] = Set(ids) }
        }
        var problem: String?
        var keys = KeyRing.RecordKeys()
        var place: ZonePlace?
        do throws(KeyFailure) {
            if !needed.isEmpty { (keys, place) = try await session.keyRing.keysToOpen(needed, in: zone) }
        } catch {
            switch error {
            case .service(.transport(.accountTemporarilyUnavailable, let reason, let retryAfter)):
                let failure = CKError(
                    .transport(.accountTemporarilyUnavailable, reason, retryAfter: retryAfter), errors)
                return Dictionary(records.map { ($0.recordID, Unopened(error: failure, mayOpenLater: true)) }) { $1 }
            case .service(let failure): throw CKError(failure, errors)
            case .invalid(let reason): problem = reason
            }
        }
        var failures: [CKRecord.ID: Unopened] = [:]
        let advice = keys.waiting.isEmpty ? "" : await session.keyRing.advice(onKeysOf: zone)
        for record in sealed {
            failures[record.record.recordID] =
                if let problem {
                    // The record may open later: a person may accept a device list, or a device may rotate the keys.
                    notOpen(record.record, problem, mayOpenLater: true)
                } else {
                    open(record, keys, place, advice)
                }
        }
        let lacking = records.filter { failures[$0.recordID]?.lacksKey == true }
        failures.merge(try await changedMeanwhile(lacking)) { $1 }
        return failures
    }

    /// The errors of records that were saved under another key after they were read: with its last value the service
    /// drops a record's former key, which looks like a lost key. The records that did not change have none.
    private func changedMeanwhile(_ records: [CKRecord]) async throws(CKError) -> [CKRecord.ID: Unopened] {
        var changed: [CKRecord.ID: Unopened] = [:]
        for start in stride(from: 0, to: records.count, by: Self.recordsPerLookup) {
            let part = records[start..<min(start + Self.recordsPerLookup, records.count)]
            let present = try await lookUp(part.map(\.recordID), desiredKeys: [])
            for (record, present) in zip(part, present) {
                if case .success(let present) = present, present.recordChangeTag == record.recordChangeTag { continue }
                let error = CKError(
                    .zoneBusy, "Record '\(record.recordID.recordName)' was saved while it was read: fetch it again",
                    errors, adding: [CKErrorRetryAfterKey: Self.keyRetryAfter])
                changed[record.recordID] = Unopened(error: error, mayOpenLater: true)
            }
        }
        return changed
    }

    private static let recordsPerLookup = 200

    /// Decrypts the fields of a record in place.
    /// - Returns: the failure; nil if the record opened.
    private func open(
        _ record: SealedRecord, _ keys: KeyRing.RecordKeys, _ place: ZonePlace?, _ advice: String
    ) -> Unopened? {
        let known = (keys.keys[record.recordName] ?? []).map(\.key)
        if keys.waiting.contains(record.recordName), !record.hasKeys(known) {
            let error = CKError(
                .zoneBusy,
                "The key of the encrypted values of record '\(record.recordName)' has not arrived: \(advice)",
                errors, adding: [CKErrorRetryAfterKey: Self.keyRetryAfter])
            return Unopened(error: error, mayOpenLater: true)
        }
        do throws(SealedRecord.Failure) {
            try record.open(with: known, place?.context(ofRecord: record.recordName))
            return nil
        } catch {
            var unopened = notOpen(record.record, "field '\(error.field)' \(error.cause)")
            unopened.lacksKey = error.lacksKey
            return unopened
        }
    }

    /// The delay in seconds after which an app retries a fetch that lacks keys.
    static let keyRetryAfter = 3.0

    /// Adds the secret fragments, which the service does not know, to the URLs of shares. Also distributes the keys of
    /// the account's own shares. The next fetch retries after a failure.
    func addLinks(to records: [CKRecord]) async {
        for case let share as CKShare in records {
            let (hasKeys, wantsKeys, root) = share.shareState.withLock { ($0.hasKeys, $0.wantsKeys, $0.rootRecordID) }
            guard hasKeys || wantsKeys, call.scope != .public else { continue }
            let isZoneWide = share.recordID.recordName == CKRecordNameZoneWideShare
            let name = KeyRing.GroupName(
                zone: KeyZone(share.recordID.zoneID, call.scope), group: isZoneWide ? "" : share.recordID.recordName)
            if wantsKeys {
                // Only the owner of the records wraps their keys.
                // The empty name stands for all records of the zone, so a missing root names none.
                let below = isZoneWide ? "" : root?.recordName
                let roots = call.scope == .private ? [below].compactMap(\.self) : []
                try? await session.keyRing.rotateAndDistributeKeys(name, roots: roots)
            }
            share.add(await session.keyRing.links(of: name))
        }
    }

    private func notOpen(_ record: CKRecord, _ cause: String, mayOpenLater: Bool = false) -> Unopened {
        let message = "The encrypted values of record '\(record.recordID.recordName)' do not open: \(cause)"
        return Unopened(error: CKError(.internalError, message, errors), mayOpenLater: mayOpenLater)
    }

    /// Opens the server records of conflicts. If one does not open, its item fails with that error: an app that merged
    /// its changes into the incomplete record would store the loss.
    func openingServerRecords(of events: [ModifyRecordsPlan.Event]) async -> [ModifyRecordsPlan.Event] {
        let servers = events.compactMap { event -> CKRecord? in
            guard case .save(_, _, let error?) = event, let server = error.serverRecord, server.hasEncryptedFields
            else { return nil }
            return server
        }
        if servers.isEmpty { return events }
        var failures: [CKRecord.ID: CKError] = [:]
        do throws(CKError) {
            failures = try await openEncryptedFields(of: servers).mapValues(\.error)
        } catch {
            failures = Dictionary(servers.map { ($0.recordID, error) }) { $1 }
        }
        if failures.isEmpty { return events }
        return events.map { event in
            guard case .save(let recordID, let record, let error?) = event, let server = error.serverRecord,
                let failure = failures[server.recordID]
            else { return event }
            return .save(recordID, record, failure)
        }
    }

    /// Opens the records of the results. A result fails if its record does not open.
    func withOpenFields(
        _ results: [Result<CKRecord, CKError>]
    ) async throws(CKError) -> [Result<CKRecord, CKError>] {
        let failures = try await openEncryptedFields(of: results.compactMap { try? $0.get() })
        if failures.isEmpty { return results }
        return results.map { result in
            guard case .success(let record) = result, let failure = failures[record.recordID] else { return result }
            return .failure(failure.error)
        }
    }
}

/// A record from the service, with its encrypted fields and its sealed assets.
struct SealedRecord {
    struct Failure: Error {
        var field: CKRecord.FieldKey
        var cause: String
        /// Whether the key of the field is not among the record's.
        var lacksKey = false
    }

    let record: CKRecord
    /// A field of the record. Its value is nil if the field came unencrypted.
    typealias Field = (key: CKRecord.FieldKey, value: SealedFieldValue?)
    let fields: [Field]
    let assets: SealedAssets

    var recordName: String { record.recordID.recordName }

    init(_ record: CKRecord) {
        self.record = record
        let state = record.state.withLock { $0 }
        assets = SealedAssets(state.fields)
        fields = state.fields.filter { $0.value.isEncrypted }.map { field -> Field in
            guard case .sealed(let value) = field.value.value else { return (field.key, nil) }
            return (field.key, value)
        }
    }

    /// Whether `keys` contains the key of every sealed value.
    func hasKeys(_ keys: [RecordKey]) -> Bool {
        fields.allSatisfy { field in
            guard let id = field.value.flatMap(RecordKey.id(of:)) else { return true }
            return keys.contains { $0.id == id }
        } && assets.keyIDs.allSatisfy { id in keys.contains { $0.id == id } }
    }

    /// Decrypts the record with these keys.
    /// - Parameter context: the seal context of the record; nil if no field was sealed.
    func open(with keys: [RecordKey], _ context: SealContext?) throws(Failure) {
        try assets.open(with: keys, context)
        if fields.isEmpty { return }
        var values: [(key: CKRecord.FieldKey, value: RecordValue)] = []
        values.reserveCapacity(fields.count)
        let wire = WireContext(zoneID: record.recordID.zoneID)
        for (key, sealed) in fields {
            guard let sealed else {
                throw Failure(field: key, cause: "has a value that is not encrypted, which an earlier version saved")
            }
            guard let id = RecordKey.id(of: sealed), let context else {
                throw Failure(field: key, cause: "has not the form of an encrypted value")
            }
            guard let recordKey = keys.first(where: { $0.id == id }) else {
                throw Failure(
                    field: key, cause: "was encrypted with a key that the service does not have", lacksKey: true)
            }
            guard let value = recordKey.open(sealed, field: key, of: context) else {
                throw Failure(field: key, cause: "was changed, or belongs elsewhere")
            }
            values.append((key, RecordValue(wire: value, in: wire)))
        }
        record.state.withLock { $0.open(values) }
    }
}
