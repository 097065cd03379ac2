import NephosService
import NephosWire

/// A message that can say in a few words what is asked or answered, and how many.
protocol RequestSummarizing {
    var logSummary: String { get }
}

extension ModifyRecordsRequest: RequestSummarizing {
    /// `save 3 Note, 1 Folder, delete 2`
    var logSummary: String {
        var saved: [String: Int] = [:]
        var deleted = 0
        for operation in operations {
            switch operation.operationType {
            case .delete, .forceDelete: deleted += 1
            default: saved[operation.record.recordType ?? "records", default: 0] += 1
            }
        }
        let types = saved.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        var parts = types.prefix(3).map { "\($0.value) \($0.key)" }
        if types.count > 3 { parts.append("\(types.dropFirst(3).reduce(0) { $0 + $1.value }) more") }
        let saves = parts.isEmpty ? [] : ["save " + parts.joined(separator: ", ")]
        return (saves + (deleted > 0 ? ["delete \(deleted)"] : [])).joined(separator: ", ")
    }
}

extension LookupRecordsRequest: RequestSummarizing {
    var logSummary: String { records.count == 1 ? records[0].recordName : counted(records.count, "record") }
}

extension QueryRecordsRequest: RequestSummarizing {
    var logSummary: String {
        let filters = query.filterBy.isEmpty ? "" : " with \(counted(query.filterBy.count, "filter"))"
        return (wantsCount ? "count " : "") + query.recordType + filters
            + (continuationMarker == nil ? "" : ", next page")
    }
}

extension RecordZoneChangesRequest: RequestSummarizing {
    var logSummary: String {
        zones.count == 1
            ? zones[0].zoneID.zoneName + (zones[0].syncToken == nil ? " from the beginning" : "")
            : counted(zones.count, "zone")
    }
}

extension DatabaseChangesRequest: RequestSummarizing {
    var logSummary: String { syncToken == nil ? "from the beginning" : "" }
}

extension ModifyZonesRequest: RequestSummarizing {
    var logSummary: String { counted(operations.count, "zone") }
}

extension RecordsResponse: RequestSummarizing {
    /// Only what failed, and why the first did: the request says how many there are.
    var logSummary: String {
        let errors = records.compactMap { if case .failure(let error) = $0 { error } else { nil } }
        guard let first = errors.first else { return "" }
        return "→ \(errors.count) failed: \(first.serverErrorCode.rawValue): \(first.reason) (\(first.uuid))"
    }
}

extension ZonesResponse: RequestSummarizing {
    var logSummary: String { "→ \(counted(zones.count, "zone"))" }
}

extension DatabaseChangesResponse: RequestSummarizing {
    var logSummary: String { "→ \(counted(zones.count, "zone"))" + (moreComing ? ", more coming" : "") }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension DecodedQuery: RequestSummarizing {
    var logSummary: String { request.logSummary }
}
