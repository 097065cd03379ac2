import NephosStorage

/// The size of an owner's records.
enum DatabaseSize {
    private static let rowsPerRead = 2_000

    /// Returns the bytes of an owner's records and tombstones with their names, of zones with their names and change tokens,
    /// and of keys. Of deleted zones the names count until they are forgotten. Their records are being purged, and count only
    /// if all records together are more than twice the others. Reads in pieces, so that it holds up no other read.
    static func measure(_ owner: OwnerID, _ engine: any StorageEngine) async throws -> Int64 {
        // The zone 0 has the account's own keys.
        var bytes = try await keys(ZoneKey(owner: owner, id: 0), engine)
        var purging: Int64 = 0
        var last: StorageReader.ZoneSize?
        while true {
            let zones = try await engine.read(expecting: .long) { [last] in
                try $0.zoneSizes(owner: owner, after: last, limit: rowsPerRead)
            }
            for zone in zones {
                let key = ZoneKey(owner: owner, id: zone.id)
                bytes += RecordQuota.rowOverhead + zone.bytes
                let content = try await records(key, engine) + keys(key, engine)
                if zone.isDeleted { purging += content } else { bytes += content }
            }
            guard zones.count == rowsPerRead, let end = zones.last else { return max(bytes, (bytes + purging) / 2) }
            last = end
        }
    }

    private static func records(_ zone: ZoneKey, _ engine: any StorageEngine) async throws -> Int64 {
        var (bytes, sequence) = (Int64(0), Int64(0))
        while true {
            let page = try await engine.read(expecting: .long) { [sequence] in
                try $0.recordSizes(zone: zone, after: sequence, limit: rowsPerRead)
            }
            bytes += page.bytes + Int64(page.count) * RecordQuota.rowOverhead
            guard page.count == rowsPerRead else { return bytes }
            sequence = page.lastSequence
            await Task.yield()
        }
    }

    private static func keys(_ zone: ZoneKey, _ engine: any StorageEngine) async throws -> Int64 {
        var (bytes, position) = (Int64(0), StorageReader.KeyPosition())
        while true {
            let page = try await engine.read(expecting: .long) { [position] in
                try $0.keySizes(zone: zone, after: position, limit: rowsPerRead)
            }
            bytes += page.bytes + Int64(page.count) * RecordQuota.rowOverhead
            guard page.count == rowsPerRead else { return bytes }
            position = page.last
            await Task.yield()
        }
    }
}
