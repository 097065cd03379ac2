import NephosWire

/// The targets of references that are neither stored nor among the operations to save.
struct MissingTargets {
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

    /// Each missing target, with the first operation that refers to it.
    private var missing: [Name: Missing] = [:]

    var isEmpty: Bool { missing.isEmpty }
    /// The missing target of the first line.
    var first: Missing? { missing.values.min { $0.line < $1.line } }

    init(of waiting: WaitingOperations, in cloud: Cloud) throws {
        var names: Set<Name> = []
        try waiting.visit { line, _ in names.insert(Name(line.operation)) }
        var asked: [Name: Missing] = [:]
        try waiting.visit { line, _ in
            for target in Self.targets(of: line.operation)
            where !names.contains(target) && asked[target] == nil && missing[target] == nil {
                let source = line.operation.record.recordName ?? ""
                asked[target] = Missing(line: line.line, recordName: source, target: target.record)
                guard asked.count == Self.namesPerRequest else { continue }
                try addAbsent(of: asked, cloud)
                asked = [:]
            }
        }
        try addAbsent(of: asked, cloud)
    }

    /// Whether the operation refers to a missing target.
    func block(_ operation: RecordOperation) -> Bool {
        Self.targets(of: operation).contains { missing[$0] != nil }
    }

    private static func targets(of operation: RecordOperation) -> [Name] {
        let zone = Name(operation).zone
        return operation.neededRecords.map { Name($0, in: zone) }
    }

    /// Adds the targets that the database does not have.
    private mutating func addAbsent(of asked: [Name: Missing], _ cloud: Cloud) throws {
        if asked.isEmpty { return }
        let names = Array(asked.keys)
        let request = LookupRecordsRequest(
            records: names.map { name in
                LookupRecordsRequest.Item(recordName: name.record, zoneID: ZoneIDDictionary(zoneName: name.zone))
            }, desiredKeys: [])
        let results = try cloud.request("records/lookup", request, as: RecordsResponse.self).records
        for (name, result) in zip(names, results) {
            guard case .failure(let error) = result, error.clientErrorCode == Self.unknownItem else { continue }
            missing[name] = asked[name]
        }
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
