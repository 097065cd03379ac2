import NephosStorage

/// The size of an owner's records.
enum DatabaseSize {
    private static let recordsPerRead = 2_000

    /// Returns the bytes of an owner's records, tombstones and zones. Reads in pieces, so that it holds up no other read.
    static func measure(_ owner: OwnerID, _ engine: any StorageEngine) async throws -> Int64 {
        let zones = try await engine.read(expecting: .long) { try $0.zones(owner: owner) }
        var bytes = Int64(zones.count) * RecordQuota.rowOverhead
        for zone in zones {
            var sequence: Int64? = 0
            while let start = sequence {
                let page = try await engine.read(expecting: .long) {
                    try $0.recordSizes(zone: zone.key, after: start, limit: recordsPerRead)
                }
                bytes += page.bytes + Int64(page.count) * RecordQuota.rowOverhead
                sequence = page.count < recordsPerRead ? nil : page.lastSequence
                await Task.yield()
            }
        }
        return bytes
    }
}
