extension StorageTransaction {
    /// Removes up to `limit` tombstones of records that were deleted before `time`, the oldest first. Stores the last
    /// purged sequence in each zone. A tombstone stays if its record was written after this call read it.
    /// - Returns: the number of examined tombstones.
    package func purgeTombstones(deletedBefore time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredTombstones) {
            try $0.bind(time).bind(limit: limit)
        } read: { row in
            (
                zone: ZoneKey(row, at: 0), name: row.text(2),
                sequence: row.integer(3)
            )
        }
        let own = ofOneOwner(expired, \.zone)
        var ends: [ZoneKey: Int64] = [:]
        for tombstone in own {
            ends[tombstone.zone] = max(ends[tombstone.zone] ?? 0, tombstone.sequence)
            let removed = try change(.removeTombstone) {
                try $0.bind(tombstone.zone).bind(tombstone.name).bind(tombstone.sequence)
            }
            if removed > 0 {
                // Removes the keys of the record's encrypted values.
                for kind in [KeyRow.Kind.recordKey, .leftRecord] {
                    try change(.removeKeysOfSubject) {
                        try $0.bind(tombstone.zone).bind(kind.rawValue).bind(tombstone.name)
                    }
                }
            }
        }
        for (zone, end) in ends { try change(.notePurge) { try $0.bind(end).bind(zone).bind(end) } }
        return own.count
    }

    /// Returns the rows of the first row's owner, for an engine in which a write excludes other writes of its owners.
    func ofOneOwner<Row>(_ rows: [Row], _ zone: (Row) -> ZoneKey) -> [Row] {
        guard type(of: connection).isRemote, let first = rows.first else { return rows }
        return rows.filter { zone($0).owner == zone(first).owner }
    }

    /// Removes up to `limit` zones that were deleted before `time` and have no records left. Stores the last expired
    /// sequence for each owner.
    /// - Returns: the number of removed zones.
    package func forgetZones(deletedBefore time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredZones) {
            try $0.bind(time).bind(limit: limit)
        } read: { row in
            (zone: ZoneKey(owner: OwnerID(rawValue: row.owner(1)), id: row.integer(0)), sequence: row.integer(2))
        }
        let own = ofOneOwner(expired, \.zone)
        for (zone, sequence) in own {
            try change(.forgetZone) { try $0.bind(zone) }
            try purgeShares(zone: zone, deletedAt: sequence)
            try change(.noteForgottenZone) { try $0.bind(owner: zone.owner.rawValue).bind(sequence) }
        }
        return own.count
    }
}
