import Foundation
import NephosCrypto
import NephosWire
import Synchronization

extension CKRecord {
    /// Whether it has an encrypted field.
    var hasEncryptedFields: Bool { state.withLock { $0.fields.hasEncrypted } }
}

/// Why a record could not be opened.
struct Unopened: Sendable {
    var error: CKError
    /// Whether what it lacks may come: its key, or the approval of this device.
    var mayOpenLater = false
}

extension DatabaseRequestContext {
    /// Puts what encrypted fields hold into records that came from the service, and gives sealed assets the keys of their
    /// files. Costs one look at the records' fields where there is neither.
    /// - Returns: why records could not be opened. They are not to be handed to anybody.
    /// - Throws: what keeps the keys from being had at all, but for a device without keys: there each record fails.
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
        for (zone, records) in Dictionary(grouping: encrypted, by: { KeyZone($0.recordID.zoneID, call.scope) }) {
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
            if let problem {
                // A person may accept a list of devices, and a device make other keys.
                failures[record.record.recordID] = notOpen(record.record, problem, mayOpenLater: true)
                continue
            }
            let known = (keys.keys[record.recordName] ?? []).map(\.key)
            if keys.waiting.contains(record.recordName), !record.hasKeys(known) {
                let error = CKError(
                    .zoneBusy,
                    "The key of the encrypted values of record '\(record.recordName)' has not arrived: \(advice)",
                    errors,
                    adding: [CKErrorRetryAfterKey: Self.keyRetryAfter])
                failures[record.record.recordID] = Unopened(error: error, mayOpenLater: true)
                continue
            }
            do throws(SealedRecord.Failure) {
                let context = place?.context(ofRecord: record.recordName)
                try record.open(with: known, context)
            } catch {
                failures[record.record.recordID] = notOpen(record.record, "field '\(error.field)' \(error.cause)")
            }
        }
        return failures
    }

    /// Seconds.
    static let keyRetryAfter = 3.0

    /// Puts into the URLs of shares what the service does not know of them, and sees to the keys of those that are the
    /// account's own. What fails there is tried again at the next fetch.
    func addLinks(to records: [CKRecord]) async {
        for case let share as CKShare in records {
            let (hasKeys, wantsKeys, root) = share.shareState.withLock { ($0.hasKeys, $0.wantsKeys, $0.rootRecordID) }
            guard hasKeys || wantsKeys, call.scope != .public else { continue }
            let isZoneWide = share.recordID.recordName == CKRecordNameZoneWideShare
            let name = KeyRing.GroupName(
                zone: KeyZone(share.recordID.zoneID, call.scope), group: isZoneWide ? "" : share.recordID.recordName)
            if wantsKeys {
                // Keys of records are their owner's to wrap.
                let roots = call.scope == .private ? [isZoneWide ? "" : root?.recordName ?? ""] : []
                try? await session.keyRing.rotateAndDistributeKeys(name, roots: roots)
            }
            share.add(await session.keyRing.links(of: name))
        }
    }

    private func notOpen(_ record: CKRecord, _ cause: String, mayOpenLater: Bool = false) -> Unopened {
        let message = "The encrypted values of record '\(record.recordID.recordName)' do not open: \(cause)"
        return Unopened(error: CKError(.internalError, message, errors), mayOpenLater: mayOpenLater)
    }

    /// The same of the records that come with conflicts. Where one does not open, that is its item's error: an app that merged
    /// into what is left of it would store the loss.
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

    /// The same of results, each of which fails where its record does not open.
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

/// The encrypted fields, and the sealed assets, of a record that came from the service.
struct SealedRecord {
    struct Failure: Error {
        var field: CKRecord.FieldKey
        var cause: String
    }

    let record: CKRecord
    /// A value in the clear is nil.
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

    /// Whether the keys of all its values are among these.
    func hasKeys(_ keys: [RecordKey]) -> Bool {
        fields.allSatisfy { field in
            guard let id = field.value.flatMap(RecordKey.id(of:)) else { return true }
            return keys.contains { $0.id == id }
        } && assets.keyIDs.allSatisfy { id in keys.contains { $0.id == id } }
    }

    /// - Parameter context: nil where no field was sealed.
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
                throw Failure(field: key, cause: "was encrypted with a key that the service does not have")
            }
            guard let value = recordKey.open(sealed, field: key, of: context) else {
                throw Failure(field: key, cause: "was changed, or belongs elsewhere")
            }
            values.append((key, RecordValue(wire: value, in: wire)))
        }
        record.state.withLock { $0.open(values) }
    }
}
