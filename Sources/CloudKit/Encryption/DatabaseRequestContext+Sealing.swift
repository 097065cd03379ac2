import Foundation
import NephosCrypto
import NephosWire

extension DatabaseRequestContext {
    /// records/modify: values for encrypted fields are sealed before anything is sent. What the service refuses for want of
    /// keys is sent again with them, a few times.
    func modifyRecordsSealed(_ request: ModifyRecordsRequest) async throws(CKError) -> [RecordResult] {
        var request = request
        var results: [RecordResult?] = Array(repeating: nil, count: request.operations.count)
        var waiting = Array(request.operations.indices)
        for attempt in 1...Self.sealingAttempts {
            var part = request
            part.operations = waiting.map { request.operations[$0] }
            let (sealed, keys) = try await sealing(part)
            let answers: [RecordResult]
            do throws(ServiceFailure) {
                answers = try await session.service.modifyRecords(sealed, call).records
            } catch {
                throw CKError(error, errors)
            }
            guard answers.count == waiting.count else { throw mismatch(answers.count, waiting.count) }
            for (index, answer) in zip(waiting, answers) { results[index] = answer }
            await remember(keys, answers, part)
            let refused = zip(part.operations, answers).filter { $1.needsKeys }
            if refused.isEmpty || call.scope == .public { break }
            if attempt == Self.sealingAttempts {
                results = results.map { $0.map(Self.withoutKeys) }
                break
            }
            do throws(CKError) {
                try await makeGood(refused, part, isFirst: attempt == 1)
            } catch {
                // A device without keys shares all the same: another of the account's wraps them.
                guard error.code == .accountTemporarilyUnavailable, !request.lacksKeys else { throw error }
                request.lacksKeys = true
            }
            let zones = Set(refused.map { part.keyZone(of: $0.0, call.scope) })
            waiting = zip(waiting, answers).compactMap { index, answer -> Int? in
                let isOfZone = zones.contains(request.keyZone(of: request.operations[index], call.scope))
                return answer.needsKeys || answer.isAtomicFailure && isOfZone ? index : nil
            }
        }
        return results.compactMap(\.self)
    }

    private static let sealingAttempts = 5

    /// What is still refused for want of keys is so because others change them, or have not handed them over.
    private static func withoutKeys(_ result: RecordResult) -> RecordResult {
        guard case .failure(var error) = result, error.needsKeys else { return result }
        error.serverErrorCode = .tryAgainLater
        error.clientErrorCode = CKError.Code.zoneBusy.rawValue
        error.retryAfter = keyRetryAfter
        return .failure(error)
    }

    /// Learns whose key the service wants records' keys wrapped under, and hands those over that it lacks.
    private func makeGood(
        _ refused: [(RecordOperation, RecordResult)], _ request: ModifyRecordsRequest, isFirst: Bool
    ) async throws(CKError) {
        let ring = session.keyRing
        var roots: [KeyRing.GroupName: [String]] = [:]
        for zone in Set(refused.map { request.keyZone(of: $0.0, call.scope) }) { await ring.forget(zone) }
        for (operation, result) in refused {
            guard case .failure(let error) = result else { continue }
            let name = KeyRing.GroupName(zone: request.keyZone(of: operation, call.scope), group: error.keyGroup ?? "")
            if let recordName = operation.record.recordName {
                await ring.learn(name.group, of: recordName, in: name.zone)
                // A new value goes with its key; what is moved has keys already.
                if !isFirst || !operation.hasClearValues { roots[name, default: []].append(recordName) }
                if let root = operation.record.share?.forRecord?.recordName { roots[name, default: []].append(root) }
            }
        }
        guard call.scope == .private else { return }
        try await keyed { (ring) async throws(KeyFailure) in
            for (name, roots) in roots {
                let isZone = roots.contains(CKRecordNameZoneWideShare)
                try await ring.tend(name, roots: isZone ? [""] : roots)
            }
        }
    }

    private func remember(
        _ keys: [Int: KeyRing.KnownKey], _ answers: [RecordResult], _ request: ModifyRecordsRequest
    ) async {
        let saved = keys.compactMap { index, key -> KeyRing.SavedKey? in
            guard case .record(let saved) = answers[index] else { return nil }
            let zone = request.keyZone(of: request.operations[index], call.scope)
            return KeyRing.SavedKey(key: key, recordName: saved.recordName, zone: zone)
        }
        if !saved.isEmpty { await session.keyRing.remember(saved) }
    }

    /// The request with sealed values, and the new keys by the operations that bring them.
    private func sealing(
        _ request: ModifyRecordsRequest
    ) async throws(CKError) -> (request: ModifyRecordsRequest, keys: [Int: KeyRing.KnownKey]) {
        // In the public database there are no keys: the service refuses the values, without seeing them.
        guard call.scope != .public else { return (request.withoutClearValues(), [:]) }
        var request = request
        var keys: [Int: KeyRing.KnownKey] = [:]
        let indices = request.operations.indices.filter { request.operations[$0].hasClearValues }
        let scope = call.scope
        for (zone, indices) in Dictionary(
            grouping: indices, by: { request.keyZone(of: request.operations[$0], scope) })
        {
            let made = try await keyed { (ring) async throws(KeyFailure) in
                try await Self.seal(&request, indices, in: zone, ring)
            }
            keys.merge(made) { $1 }
        }
        return (request, keys)
    }

    private static func seal(
        _ request: inout ModifyRecordsRequest, _ indices: [Int], in zone: KeyZone, _ ring: KeyRing
    ) async throws(KeyFailure) -> [Int: KeyRing.KnownKey] {
        let records = indices.map { index in
            let record = request.operations[index].record
            let name = record.recordName ?? UUID().uuidString
            request.operations[index].record.recordName = name
            return KeyRing.RecordToSeal(
                name: name, parent: record.parentName, isNew: request.operations[index].operationType == .create)
        }
        let (keys, place) = try await ring.keysToSeal(records, in: zone)
        var made: [Int: KeyRing.KnownKey] = [:]
        for (index, (record, key)) in zip(indices, zip(records, keys)) {
            made[index] = key.made
            if let wrapped = key.wrapped { request.operations[index].record.keys = [wrapped] }
            request.operations[index].seal(with: key.key, place.context(ofRecord: record.name))
        }
        return made
    }

    /// Runs what needs keys.
    func keyed<Value>(
        _ body: (KeyRing) async throws(KeyFailure) -> Value
    ) async throws(CKError) -> Value {
        do throws(KeyFailure) {
            return try await body(session.keyRing)
        } catch {
            switch error {
            case .service(let failure): throw CKError(failure, errors)
            case .invalid(let reason): throw CKError(.internalError, "Values cannot be encrypted: \(reason)", errors)
            }
        }
    }
}

extension ModifyRecordsRequest {
    /// Whether something of it is to be sealed: values of encrypted fields, keys of assets' files.
    var hasClearValues: Bool { operations.contains(where: \.hasClearValues) }

    fileprivate func keyZone(of operation: RecordOperation, _ scope: CKDatabase.Scope) -> KeyZone {
        KeyZone(operation.record.zoneID ?? zoneID, scope)
    }

    /// The request with nothing in the place of the values that cannot be sealed.
    fileprivate func withoutClearValues() -> ModifyRecordsRequest {
        var request = self
        for index in operations.indices where operations[index].hasClearValues {
            request.operations[index].replaceClearValues { _, value in SealedFieldValue(type: value.type, bytes: []) }
            request.operations[index].wrapAssetKeys(with: nil, nil)
        }
        return request
    }
}

extension RecordOperation {
    fileprivate var hasClearValues: Bool {
        record.fields.entries.contains { $0.field.isClearAndEncrypted } || hasAssetKeys
    }

    fileprivate mutating func seal(with key: RecordKey, _ context: SealContext) {
        replaceClearValues { name, value in
            // What cannot be sealed goes nowhere either, and is refused for its type.
            key.seal(value, field: name, of: context) ?? SealedFieldValue(type: value.type, bytes: [])
        }
        wrapAssetKeys(with: key, context)
    }

    fileprivate mutating func replaceClearValues(_ seal: (String, FieldValue) -> SealedFieldValue) {
        for entry in record.fields.entries where entry.field.isClearAndEncrypted {
            guard let value = entry.field.value else { continue }
            record.fields[entry.name] = Field(.sealed(seal(entry.name, value)), isEncrypted: true)
        }
    }
}

extension Field {
    /// Whether it is of an encrypted field, and its value is not sealed.
    fileprivate var isClearAndEncrypted: Bool {
        guard isEncrypted, let value else { return false }
        if case .sealed = value { return false }
        return true
    }
}

extension RecordResult {
    fileprivate var needsKeys: Bool {
        if case .failure(let error) = self { error.needsKeys } else { false }
    }

    fileprivate var isAtomicFailure: Bool {
        if case .failure(let error) = self { error.serverErrorCode == .atomicError } else { false }
    }
}

extension RecordToModify {
    /// The name of the parent that the record gets.
    fileprivate var parentName: String? {
        if case .set(let reference) = parent { reference.recordName } else { nil }
    }
}
