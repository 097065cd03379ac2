import NephosStorage

/// The removal of an index's entries, zone by zone. The progress is stored in the job's subject.
struct IndexRemoval {
    let definition: Int64
    /// The ID of the last zone whose entries were removed.
    var zone: Int64
    let recordType: String

    init(definition: Int64, zone: Int64, recordType: String) {
        self.definition = definition
        self.zone = zone
        self.recordType = recordType
    }

    init?(_ job: JobRow) {
        let parts = job.subject.split(separator: " ", maxSplits: 2)
        guard job.kind == BackgroundJob.removeIndex.rawValue, parts.count == 3, let definition = Int64(parts[0]),
            let zone = Int64(parts[1])
        else { return nil }
        self.init(definition: definition, zone: zone, recordType: String(parts[2]))
    }

    var job: JobRow {
        JobRow(
            kind: BackgroundJob.removeIndex.rawValue, zone: ZoneKey(owner: .everyone, id: 0),
            subject: "\(definition) \(zone) \(recordType)")
    }

    /// Removes some entries, and inserts a job for the remaining ones.
    /// - Returns: always true, because the inserted job does the remaining work.
    func step(in transaction: StorageTransaction) throws -> Bool {
        var rest = self
        var room = Limits.entriesPerIndexRemoval
        for zone in try transaction.zones(after: zone, limit: Limits.zonesPerIndexRemoval) {
            for definition in [definition, IndexDefinitionRow.leftOut(of: definition)] where room > 0 {
                let range = IndexRange(zone: zone.key, definition: definition, from: [], to: OrderedBytes.end)
                room -= try transaction.removeIndexEntries(range, limit: room)
            }
            if room <= 0 { break }
            rest.zone = zone.key.id
        }
        if room <= 0 || rest.zone != zone { try transaction.insert(rest.job) }
        return true
    }
}

extension BackgroundJob {
    static func removeIndex(_ id: Int64, of recordType: String) -> JobRow {
        IndexRemoval(definition: id, zone: 0, recordType: recordType).job
    }
}
