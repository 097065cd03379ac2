package import NephosStorage

/// The number of records in a store, over all owners and zones.
package struct RecordCount: Hashable, Sendable {
    /// The number of intact live records.
    package private(set) var records = 0
    package private(set) var damaged = 0

    /// Counts the records by reading every record, page by page.
    package init(_ engine: any StorageEngine) async throws {
        var last: Int64 = 0
        while true {
            let after = last
            let zones = try await engine.read { try $0.zones(after: after, limit: Self.pageSize) }
            guard let end = zones.last else { return }
            last = end.key.id
            for zone in zones { try await count(zone.key, engine) }
        }
    }

    private mutating func count(_ zone: ZoneKey, _ engine: any StorageEngine) async throws {
        var sequence: Int64 = 0
        while true {
            let start = sequence
            let page = try await engine.read { reader in
                var page = (end: start, visited: 0, whole: 0, damaged: 0)
                try reader.visitRecords(zone: zone, after: start, limit: Self.pageSize, size: Self.pageBytes) {
                    record in
                    page.end = record.sequence
                    page.visited += 1
                    if record.isDamaged {
                        page.damaged += 1
                    } else if !record.isDeleted {
                        page.whole += 1
                    }
                }
                return page
            }
            sequence = page.end
            records += page.whole
            damaged += page.damaged
            if page.visited == 0 { return }
        }
    }

    private static let pageSize = 1_000
    private static let pageBytes = 4 << 20
}
