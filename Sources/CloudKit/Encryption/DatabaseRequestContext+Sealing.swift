import Foundation
import NephosCrypto
import NephosWire

extension DatabaseRequestContext {
    /// Sends records/modify, after sealing the encrypted fields. If the service refuses items because keys are missing,
    /// this delivers the keys and retries a few times. An item that cannot be sealed fails alone, unless the batch is
    /// atomic.
    func modifyRecordsSealed(_ request: ModifyRecordsRequest) async throws(CKError) -> [RecordResult] {
        var request = request
        var results: [RecordResult?] = Array(repeating: nil, count: request.operations.count)
        var waiting = Array(request.operations.indices)
        for attempt in 1...Self.sealingAttempts {
            var part = request
            part.operations = waiting.map { request.operations[$0] }
            let (answers, unsealed): ([RecordResult], Set<Int>)
            do throws(ServiceFailure) {
                (answers, unsealed) = try await sendSealed(part, signsAgain: attempt > 1)
            } catch {
                // Earlier attempts saved some items, so their results are returned.
                guard attempt > 1 else { throw CKError(error, errors) }
                for index in waiting { results[index] = .failure(ErrorDictionary(error)) }
                break
            }
            for (index, answer) in zip(waiting, answers) { results[index] = answer }
            let refused = zip(part.operations, answers).filter { $1.needsKeys }
            if refused.isEmpty || call.scope == .public { break }
            if attempt == Self.sealingAttempts {
                refuse(&results, request, Self.withoutKeys)
                break
            }
            do throws(KeyFailure) {
                // An administrator whom no device of the owner's has named signs nothing; a person decides later.
                if try await !makeGood(refused, part, isFirst: attempt == 1) { request.lacksKeys = true }
            } catch {
                // A device without keys can still share records. Another device of the account wraps the keys later.
                if error.isWithoutKeys, !request.lacksKeys {
                    request.lacksKeys = true
                } else {
                    refuse(&results, request) { _ in ErrorDictionary(error.asService) }
                    break
                }
            }
            waiting = itemsToRepeat(part, answers, unsealed).map { waiting[$0] }
        }
        return results.compactMap(\.self)
    }

    /// Returns the indexes of the items to retry when keys arrive.
    private func itemsToRepeat(
        _ request: ModifyRecordsRequest, _ answers: [RecordResult], _ unsealed: Set<Int>
    ) -> [Int] {
        let sent = answers.indices.filter { !unsealed.contains($0) }
        return RepeatedItems.of(
            Dictionary(uniqueKeysWithValues: sent.map { ($0, answers[$0]) }),
            lacking: sent.filter { answers[$0].needsKeys }
        ) {
            request.keyZone(of: request.operations[$0], call.scope)
        }.sorted()
    }

    /// Fails the items that still lack keys, and their dependents.
    private func refuse(
        _ results: inout [RecordResult?], _ request: ModifyRecordsRequest,
        _ failure: (ErrorDictionary) -> ErrorDictionary
    ) {
        let lacking = results.indices.filter { results[$0]?.needsKeys == true }
        for index in lacking {
            if case .failure(let error)? = results[index] { results[index] = .failure(failure(error)) }
        }
        failDependents(of: lacking, &results, request)
    }

    /// A reference violation in the zone of an item that lacks keys may follow from it, and would be final for an app. It
    /// becomes a failure of the batch, after which `CKSyncEngine` sends the record again.
    private func failDependents(
        of lacking: some Sequence<Int>, _ results: inout [RecordResult?], _ request: ModifyRecordsRequest
    ) {
        let zones = Set(lacking.map { request.keyZone(of: request.operations[$0], call.scope) })
        for index in results.indices where zones.contains(request.keyZone(of: request.operations[index], call.scope)) {
            guard case .failure(var error)? = results[index], CKError.Code(error) == .referenceViolation else {
                continue
            }
            error.serverErrorCode = .atomicError
            error.clientErrorCode = CKError.Code.batchRequestFailed.rawValue
            results[index] = .failure(error)
        }
    }

    /// Signs the participants of the shares that are saved, if this device has the keys for it.
    /// - Parameter again: whether the service has refused a save of the request.
    private func signing(_ request: ModifyRecordsRequest, again: Bool) async -> ModifyRecordsRequest {
        var request = request
        guard call.scope != .public, !request.lacksKeys else { return request }
        for index in request.operations.indices {
            guard let share = request.operations[index].record.share,
                let name = request.shareGroup(of: request.operations[index], call.scope)
            else { continue }
            request.operations[index].record.share?.signedParticipants = await session.keyRing.signedParticipants(
                of: share, name, isForced: again)
        }
        return request
    }

    /// Seals the operations that can be sealed, and sends them.
    /// - Parameter signsAgain: whether the service has refused a save of the request.
    /// - Returns: a result for each operation, and the indices of the operations that were not sent.
    private func sendSealed(
        _ request: ModifyRecordsRequest, signsAgain: Bool
    ) async throws(ServiceFailure) -> (results: [RecordResult], unsent: Set<Int>) {
        let sealed = try await sealing(await signing(request, again: signsAgain))
        var results = request.operations.indices.map { sealed.failures[$0].map(RecordResult.failure) }
        let unsent = Set(sealed.failures.keys)
        let sent = request.operations.indices.filter { !unsent.contains($0) }
        if !sent.isEmpty {
            var part = sealed.request
            part.operations = sent.map { sealed.request.operations[$0] }
            let answers = try await session.service.send(.modifyRecords, part, call).records
            guard answers.count == sent.count else {
                throw .transport(
                    .internalError, "The service answered \(sent.count) items with \(answers.count) results.")
            }
            for (index, answer) in zip(sent, answers) { results[index] = answer }
        }
        failDependents(of: unsent, &results, request)
        let inOrder = results.compactMap(\.self)
        await remember(sealed.keys, inOrder, request)
        return (inOrder, unsent)
    }

    private static let sealingAttempts = 5

    /// Turns a final refusal for missing keys into a retryable error, because other devices are changing the keys or
    /// still have to deliver them.
    private static func withoutKeys(_ refusal: ErrorDictionary) -> ErrorDictionary {
        var error = refusal
        error.serverErrorCode = .tryAgainLater
        error.clientErrorCode = CKError.Code.zoneBusy.rawValue
        error.retryAfter = keyRetryAfter
        return error
    }

    /// Learns from the refusals which group's key has to wrap the keys of the records, and delivers the missing keys.
    /// - Returns: whether this device may sign the participants of the refused shares.
    private func makeGood(
        _ refused: [(RecordOperation, RecordResult)], _ request: ModifyRecordsRequest, isFirst: Bool
    ) async throws(KeyFailure) -> Bool {
        let ring = session.keyRing
        var roots: [KeyRing.GroupName: [String]] = [:]
        for zone in Set(refused.map { request.keyZone(of: $0.0, call.scope) }) { await ring.forget(zone) }
        for (operation, result) in refused {
            guard case .failure(let error) = result else { continue }
            let name = KeyRing.GroupName(zone: request.keyZone(of: operation, call.scope), group: error.keyGroup ?? "")
            if let recordName = operation.record.recordName {
                await ring.learn(name.group, of: recordName, in: name.zone)
                // A new value is sent with its key. A moved record already has keys, which must be wrapped again.
                if !isFirst || !operation.hasClearValues { roots[name, default: []].append(recordName) }
                if let root = operation.record.share?.forRecord?.recordName { roots[name, default: []].append(root) }
            }
        }
        guard call.scope == .private else {
            for name in refused.compactMap({ request.shareGroup(of: $0.0, call.scope) }) {
                guard try await ring.maySignParticipants(of: name) else { return false }
            }
            return true
        }
        for (name, roots) in roots.sorted(by: { ($0.key.zone, $0.key.group) < ($1.key.zone, $1.key.group) }) {
            let isZone = roots.contains(CKRecordNameZoneWideShare)
            try await ring.rotateAndDistributeKeys(name, roots: isZone ? [""] : roots)
        }
        return true
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

    private struct Sealed {
        var request: ModifyRecordsRequest
        /// The new keys, by the index of their operation.
        var keys: [Int: KeyRing.KnownKey] = [:]
        /// The failures of operations that are not sent, by the index of the operation.
        var failures: [Int: ErrorDictionary] = [:]
    }

    /// Returns the request with its values sealed.
    /// - Throws: a failure that concerns the whole request.
    private func sealing(_ request: ModifyRecordsRequest) async throws(ServiceFailure) -> Sealed {
        // The public database has no keys. The fields are sent without values, so that the service refuses them without
        // receiving the values.
        guard call.scope != .public else { return Sealed(request: request.withoutClearValues()) }
        var sealed = Sealed(request: request)
        let indices = request.operations.indices.filter { request.operations[$0].hasClearValues }
        let scope = call.scope
        let zones = Dictionary(grouping: indices) { request.keyZone(of: request.operations[$0], scope) }
        for (zone, indices) in zones.sorted(by: { $0.key < $1.key }) {
            do throws(KeyFailure) {
                try await Self.seal(&sealed, indices, in: zone, session.keyRing)
            } catch {
                guard error.isRefusal else { throw error.asService }
                for index in indices { sealed.failures[index] = ErrorDictionary(error.asService) }
            }
        }
        if sealed.failures.isEmpty { return sealed }
        let dependents = BatchDependents(
            of: Set(sealed.failures.keys),
            in: request.operations.map { operation in
                BatchDependents.Item(
                    recordName: operation.record.recordName, zoneID: operation.record.zoneID ?? request.zoneID,
                    root: operation.record.share?.forRecord?.recordName)
            }, isAtomic: request.atomic ?? true)
        for (index, reason) in dependents.reasons {
            sealed.failures[index] = ErrorDictionary(uuid: "", serverErrorCode: .atomicError, reason: reason)
        }
        return sealed
    }

    private static func seal(
        _ sealed: inout Sealed, _ indices: [Int], in zone: KeyZone, _ ring: KeyRing
    ) async throws(KeyFailure) {
        let records = indices.map { index in
            let record = sealed.request.operations[index].record
            let name = record.recordName ?? UUID().uuidString
            sealed.request.operations[index].record.recordName = name
            return KeyRing.RecordToSeal(
                name: name, parent: record.parentName,
                isNew: sealed.request.operations[index].operationType == .create)
        }
        let (keys, place) = try await ring.keysToSeal(records, in: zone)
        for (index, (record, key)) in zip(indices, zip(records, keys)) {
            switch key {
            case .success(let key):
                sealed.keys[index] = key.made
                if let wrapped = key.wrapped { sealed.request.operations[index].record.keys = [wrapped] }
                sealed.request.operations[index].seal(with: key.key, place.context(ofRecord: record.name))
            case .failure(let failure):
                sealed.failures[index] = ErrorDictionary(failure.asService)
            }
        }
    }
}

extension KeyFailure {
    /// Whether the failure means that this device lacks the account's keys.
    fileprivate var isWithoutKeys: Bool {
        if case .service(.transport(.accountTemporarilyUnavailable, _, _)) = self { true } else { false }
    }

    /// Whether the failure concerns only the values to be sealed, and not the whole request.
    fileprivate var isRefusal: Bool {
        switch self {
        case .service(.refused), .invalid: true
        case .service(.transport), .service(.cancelled): isWithoutKeys
        }
    }

    fileprivate var asService: ServiceFailure {
        switch self {
        case .service(let failure): failure
        case .invalid(let reason): .transport(.internalError, "Values cannot be encrypted: \(reason)")
        }
    }
}

extension ErrorDictionary {
    /// Creates the error of one item from the failure of a request.
    fileprivate init(_ failure: ServiceFailure) {
        switch failure {
        case .refused(let error): self = error
        case .transport(let code, let message, let retryAfter):
            self.init(
                uuid: "", serverErrorCode: .internalError, reason: message, retryAfter: retryAfter,
                clientErrorCode: code.rawValue)
        case .cancelled:
            self.init(
                uuid: "", serverErrorCode: .internalError, reason: "The operation was cancelled.",
                clientErrorCode: CKError.Code.operationCancelled.rawValue)
        }
    }
}

extension ModifyRecordsRequest {
    /// Whether the request has content to be sealed: values of encrypted fields, or keys of asset files.
    var hasClearValues: Bool { operations.contains(where: \.hasClearValues) }

    fileprivate func keyZone(of operation: RecordOperation, _ scope: CKDatabase.Scope) -> KeyZone {
        KeyZone(operation.record.zoneID ?? zoneID, scope)
    }

    /// Returns the group of the share that an operation saves; nil if it saves none.
    fileprivate func shareGroup(of operation: RecordOperation, _ scope: CKDatabase.Scope) -> KeyRing.GroupName? {
        guard operation.record.share != nil, let name = operation.record.recordName else { return nil }
        return KeyRing.GroupName(
            zone: keyZone(of: operation, scope), group: name == CKRecordNameZoneWideShare ? "" : name)
    }

    /// Returns the request with empty bytes in place of the values that cannot be sealed.
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
            // A value that cannot be sealed is sent without bytes. The service then refuses the value because of its
            // type.
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

extension RecordFields {
    /// The size of the fields' data in bytes, as `storedSize`, once the encrypted values are sealed.
    var sealedSize: Int {
        entries.reduce(storedSize) { size, entry in
            guard entry.field.isClearAndEncrypted, let value = entry.field.value else { return size }
            return size - entry.field.storedSize + RecordKey.sealedSize(of: value)
        }
    }
}

extension Field {
    /// Whether the field is encrypted and its value is not sealed yet.
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

    var needsFile: Bool {
        if case .failure(let error) = self { error.needsFile } else { false }
    }
}

extension RecordToModify {
    /// The name of the record's parent after the operation.
    fileprivate var parentName: String? {
        if case .set(let reference) = parent { reference.recordName } else { nil }
    }
}
