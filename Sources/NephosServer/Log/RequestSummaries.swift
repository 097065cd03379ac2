import NephosService
import NephosWire

/// A message that can summarise its operations with their counts.
protocol RequestSummarizing {
    var logSummary: String { get }
}

extension ModifyRecordsRequest: RequestSummarizing {
    /// The summary, such as `save 3 Note, 1 Folder, delete 2`.
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

/// An answer with one item for each item of the request. Some items may have failed.
protocol ItemsAnswering: RequestSummarizing {
    var itemFailures: ItemFailures { get }
}

extension ItemsAnswering {
    var logSummary: String { failureSummary }

    /// The number of failed items, and the reason of the first failure. The summary of the request has the total number
    /// of items.
    fileprivate var failureSummary: String {
        let failures = itemFailures
        guard let first = failures.first else { return "" }
        return "→ \(failures.count) failed: \(first.serverErrorCode.rawValue): \(first.reason) (\(first.uuid))"
    }
}

extension ItemFailures {
    fileprivate init<Item>(_ items: [Item], _ error: (Item) -> ErrorDictionary?) {
        self.init()
        for item in items { if let error = error(item) { add(error) } }
    }
}

extension RecordsResponse: ItemsAnswering {
    var itemFailures: ItemFailures {
        encodedRecords == nil
            ? ItemFailures(records) { if case .failure(let error) = $0 { error } else { nil } } : encodedFailures
    }
}

extension ZonesResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(zones) { if case .failure(let error) = $0 { error } else { nil } } }

    var logSummary: String { itemFailures.count == 0 ? "→ \(counted(zones.count, "zone"))" : failureSummary }
}

extension RecordZoneChangesResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(zones) { if case .failure(let error) = $0 { error } else { nil } } }
}

extension SubscriptionsResponse: ItemsAnswering {
    var itemFailures: ItemFailures {
        ItemFailures(subscriptions) { if case .failure(let error) = $0 { error } else { nil } }
    }
}

extension RecordInfosResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(results) { if case .failure(let error) = $0 { error } else { nil } } }
}

extension ParticipantLookupResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(users) { if case .failure(let error) = $0 { error } else { nil } } }
}

extension AccessRequestsResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(failures) { $0 } }
}

extension AssetUploadResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(tokens) { if case .failure(let error) = $0 { error } else { nil } } }
}

extension RereferenceResponse: ItemsAnswering {
    var itemFailures: ItemFailures { ItemFailures(assets) { if case .failure(let error) = $0 { error } else { nil } } }
}

extension DatabaseChangesResponse: RequestSummarizing {
    var logSummary: String { "→ \(counted(zones.count, "zone"))" + (moreComing ? ", more coming" : "") }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension DecodedQuery: RequestSummarizing {
    var logSummary: String { request.logSummary }
}
