import NephosWire

/// The rules for the limits that a save nearly reaches.
enum PreflightRules {
    private static let percent = 80

    static func notes(_ request: ModifyRecordsRequest, savedBytes: Int64) -> [String] {
        var notes: [String] = []
        if request.operations.count * 100 >= Limits.operationsPerRequest * percent {
            notes.append(
                "requests have over \(percent) % of the \(Limits.operationsPerRequest) records that a request may have")
        }
        let size = Limits.recordSize * percent / 100
        // A request that saved less than that has no such record.
        guard savedBytes >= size else { return notes }
        for operation in request.operations where operation.record.fields.storedSize >= size {
            let type = Identifier.excerpt(operation.record.recordType ?? "")
            notes.append(
                "records of type '\(type)' have over \(percent) % of the \(Limits.recordSize) bytes that a record may have"
            )
        }
        return notes
    }
}
