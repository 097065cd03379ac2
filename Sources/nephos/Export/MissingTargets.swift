import NephosWire

/// Finds targets of references that are neither stored nor among the operations to save.
enum MissingTargets {
    struct Missing {
        var line: Int
        var recordName: String
        var target: String
    }

    private struct Name: Hashable {
        var zone: String
        var record: String

        init(_ reference: ReferenceValue, in zone: String) {
            self.zone = reference.zoneID?.zoneName ?? zone
            record = reference.recordName
        }

        init(_ operation: RecordOperation) {
            zone = operation.record.zoneID?.zoneName ?? ZoneIDDictionary.defaultZoneName
            record = operation.record.recordName ?? ""
        }
    }

    private static let namesPerRequest = 200

    /// Returns the first missing target; nil if all targets will exist.
    static func first(of waiting: WaitingOperations, in cloud: Cloud) throws -> Missing? {
        var names: Set<Name> = []
        try waiting.visit { line, _ in names.insert(Name(line.operation)) }
        var asked: [Name: Missing] = [:]
        var missing: Missing?
        try waiting.visit { line, _ in
            let source = Name(line.operation)
            for target in line.operation.neededRecords.map({ Name($0, in: source.zone) })
            where !names.contains(target) && asked[target] == nil && missing == nil {
                asked[target] = Missing(line: line.line, recordName: source.record, target: target.record)
                guard asked.count == namesPerRequest else { continue }
                missing = try absent(asked, cloud)
                asked = [:]
            }
        }
        return try missing ?? absent(asked, cloud)
    }

    /// Returns the first name, in the order of the lines, that no record has; nil if all exist.
    private static func absent(_ names: [Name: Missing], _ cloud: Cloud) throws -> Missing? {
        if names.isEmpty { return nil }
        let sorted = names.sorted { $0.value.line < $1.value.line }
        let request = LookupRecordsRequest(
            records: sorted.map { name, _ in
                LookupRecordsRequest.Item(recordName: name.record, zoneID: ZoneIDDictionary(zoneName: name.zone))
            }, desiredKeys: [])
        let results = try cloud.request("records/lookup", request, as: RecordsResponse.self).records
        for ((_, missing), result) in zip(sorted, results) {
            if case .failure(let error) = result, error.clientErrorCode == unknownItem { return missing }
        }
        return nil
    }

    /// The raw value of `CKError.Code.unknownItem`.
    private static let unknownItem = 11
}

extension RecordOperation {
    /// The records that must exist before this one: its parent, and the targets of its references with an action.
    var neededRecords: [ReferenceValue] {
        let fields = record.fields.entries.flatMap { $0.field.value?.neededRecords ?? [] }
        guard case .set(let parent) = record.parent else { return fields }
        return fields + [parent]
    }

    /// The same operation without the references that need other records.
    var withoutNeeds: RecordOperation {
        var operation = self
        operation.record.fields = RecordFields(
            record.fields.entries.filter { $0.field.value?.neededRecords.isEmpty ?? true })
        if case .set = record.parent { operation.record.parent = .keep }
        return operation
    }
}

extension FieldValue {
    fileprivate var neededRecords: [ReferenceValue] {
        switch self {
        case .reference(let reference): reference.action == .none ? [] : [reference]
        case .list(_, let elements): elements.flatMap(\.neededRecords)
        default: []
        }
    }
}
