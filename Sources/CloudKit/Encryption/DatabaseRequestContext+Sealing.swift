import Foundation
import NephosCrypto
import NephosWire

extension DatabaseRequestContext {
    /// records/modify of a request that has values for encrypted fields: they are sealed before anything is sent. What the
    /// service refuses for want of a key is sealed with other keys, a few times.
    func modifyRecordsSealed(_ request: ModifyRecordsRequest) async throws(CKError) -> [RecordResult] {
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
            let zones = Set(zip(part.operations, answers).compactMap { $1.needsKeys ? part.zoneName(of: $0) : nil })
            if zones.isEmpty || attempt == Self.sealingAttempts { break }
            for zone in zones { await session.keyRing.forget(zone: zone) }
            waiting = zip(waiting, answers).compactMap { index, answer -> Int? in
                let isOfZone = zones.contains(request.zoneName(of: request.operations[index]))
                return answer.needsKeys || answer.isAtomicFailure && isOfZone ? index : nil
            }
        }
        return results.compactMap(\.self)
    }

    private static let sealingAttempts = 4

    private func remember(_ keys: [Int: RecordKey], _ answers: [RecordResult], _ request: ModifyRecordsRequest) async {
        for (index, key) in keys {
            guard case .record(let saved) = answers[index] else { continue }
            await session.keyRing.remember(
                key, ofRecord: saved.recordName, inZone: request.zoneName(of: request.operations[index]))
        }
    }

    /// The request with sealed values, and the new keys by the operations that bring them.
    private func sealing(
        _ request: ModifyRecordsRequest
    ) async throws(CKError) -> (request: ModifyRecordsRequest, keys: [Int: RecordKey]) {
        // Elsewhere there are no keys: the service refuses the values, without seeing them.
        guard call.scope == .private else { return (request.withoutClearValues(), [:]) }
        var request = request
        var keys: [Int: RecordKey] = [:]
        let indices = request.operations.indices.filter { request.operations[$0].hasClearValues }
        for (zone, indices) in Dictionary(grouping: indices, by: { request.zoneName(of: request.operations[$0]) }) {
            let made = try await keyed { (ring) async throws(KeyFailure) in
                try await Self.seal(&request, indices, inZone: zone, ring)
            }
            keys.merge(made) { $1 }
        }
        return (request, keys)
    }

    private static func seal(
        _ request: inout ModifyRecordsRequest, _ indices: [Int], inZone zone: String, _ ring: KeyRing
    ) async throws(KeyFailure) -> [Int: RecordKey] {
        let (place, group) = try await ring.keys(ofZone: zone, making: true)
        guard let groupKey = group.keys[group.current] else { throw .invalid("the zone has no key") }
        // A record that exists has a key already, and goes on with it.
        var names: [String: Set<[UInt8]>] = [:]
        for index in indices where request.operations[index].operationType != .create {
            if let name = request.operations[index].record.recordName { names[name] = [] }
        }
        let known = try await ring.keys(ofRecords: names, inZone: zone)
        var made: [Int: RecordKey] = [:]
        for index in indices {
            let name = request.operations[index].record.recordName ?? UUID().uuidString
            request.operations[index].record.recordName = name
            let key: RecordKey
            if let last = known[name]?.last {
                key = last
            } else {
                key = .random()
                made[index] = key
                request.operations[index].record.keys = [
                    key.wrapped(under: groupKey, version: group.current, recordName: name, in: place)
                ]
            }
            request.operations[index].seal(with: key, place.valueContext(recordName: name))
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
    var hasClearValues: Bool { operations.contains(where: \.hasClearValues) }

    fileprivate func zoneName(of operation: RecordOperation) -> String {
        (operation.record.zoneID ?? zoneID)?.zoneName ?? ZoneIDDictionary.defaultZoneName
    }

    /// The request with nothing in the place of the values that nobody can seal.
    fileprivate func withoutClearValues() -> ModifyRecordsRequest {
        var request = self
        for index in operations.indices where operations[index].hasClearValues {
            request.operations[index].replaceClearValues { _, value in SealedFieldValue(type: value.type, bytes: []) }
        }
        return request
    }
}

extension RecordOperation {
    fileprivate var hasClearValues: Bool { record.fields.entries.contains { $0.field.isClearAndEncrypted } }

    fileprivate mutating func seal(with key: RecordKey, _ context: SealContext) {
        replaceClearValues { name, value in
            // What cannot be sealed goes nowhere either, and is refused for its type.
            key.seal(value, field: name, of: context) ?? SealedFieldValue(type: value.type, bytes: [])
        }
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
