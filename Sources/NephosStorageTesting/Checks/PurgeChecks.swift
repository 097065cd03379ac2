import NephosStorage

extension StorageConformance {
    static let purges: [StorageCheck] = [
        .engine("A purge removes records and edges of its zone alone, as many at a time as asked") { engine in
            let kept = try await engine.makeZone("Kept")
            let gone = try await engine.makeZone("Gone")
            for zone in [kept, gone] {
                try await engine.write { transaction in
                    for index in 0..<25 {
                        try transaction.put(.sample(zone, "r\(index)", sequence: try transaction.nextSequence()))
                        try transaction.insert(
                            ReferenceRow(zone: zone, target: "r0", kind: .deleteSelf, source: "r\(index)"))
                    }
                    try transaction.insert(ReferenceRow(zone: zone, target: "r0", kind: .parent, source: "nobody"))
                }
            }
            try await engine.delete(gone)
            var counts: [Int] = []
            for _ in 0..<4 { counts.append(try await engine.write { try $0.purgeRecords(zone: gone, limit: 10) }) }
            try expect(counts, equals: [10, 10, 5, 0])
            for (zone, records, edges) in [(gone, 0, 0), (kept, 25, 26)] {
                let found = try await engine.read { reader in
                    try reader.references(
                        zone: zone, to: "r0", kinds: ReferenceRow.Kind.allCases, after: nil, limit: 1000)
                }
                try expect(found.count, equals: edges, "edges of \(zone)")
                try expect(try await engine.allRecords(zone).count, equals: records, "records of \(zone)")
            }
        },
        .engine("A step of a purge removes few rows, however many edges the records have") { engine in
            let zone = try await engine.makeZone("Gone")
            try await engine.write { transaction in
                for index in 0..<3 {
                    try transaction.put(.sample(zone, "r\(index)", sequence: try transaction.nextSequence()))
                    try transaction.insert(
                        (0..<30).map {
                            ReferenceRow(zone: zone, target: "t\($0)", kind: .deleteSelf, source: "r\(index)")
                        })
                }
            }
            try await engine.delete(zone)
            var rows: [Int] = []
            var purged = 2
            while purged == 2 {
                (purged, rows) = try await engine.write { [rows] transaction in
                    let purged = try transaction.purgeRecords(zone: zone, limit: 2)
                    return (purged, rows + [transaction.writtenRows])
                }
                try expect(rows.count < 20, equals: true, "a purge ends")
            }
            try expect(rows.reduce(0, +), equals: 3 + 3 * 30)
            try expect(rows.allSatisfy { $0 <= 22 }, equals: true, "rows of each step: \(rows)")
        },
        .engine("A deleted zone's records stay until they are purged, beside those of the zone's next life") { engine in
            let first = try await engine.makeZone("Z")
            try await engine.save(first, "a", fields: "first")
            try await engine.delete(first)
            let second = try await engine.makeZone("Z")
            try await engine.save(second, "a", fields: "second")
            try expect(try await engine.record(first, "a")?.fields, equals: Array("first".utf8))
            try expect(try await engine.write { try $0.purgeRecords(zone: first, limit: 100) }, equals: 1)
            try expect(try await engine.record(first, "a"), equals: nil)
            try expect(try await engine.record(second, "a")?.fields, equals: Array("second".utf8))
        },
        .engine("Old tombstones go, the oldest first, and their zones keep up to which sequence") { engine in
            let zones = try await ["A", "B"].asyncMap { try await engine.makeZone($0) }
            var sequences: [Int64] = []
            // One deletion has a time in 1970, as a clock that was never set reports it.
            for (index, deletedAt) in [30, 0, 20, 40].enumerated() {
                sequences.append(
                    try await engine.write { transaction in
                        var row = RecordRow.sample(
                            zones[index % 2], "r\(index)", sequence: try transaction.nextSequence(), isDeleted: true)
                        row.modifiedAt = Int64(deletedAt)
                        try transaction.put(row)
                        return row.sequence
                    })
            }
            try await engine.save(zones[0], "live")
            var counts: [Int] = []
            for limit in [2, 2, 2] {
                counts.append(try await engine.write { try $0.purgeTombstones(deletedBefore: 35, limit: limit) })
            }
            try expect(counts, equals: [2, 1, 0])
            let left = try await engine.allRecords(zones[0]) + engine.allRecords(zones[1])
            try expect(left.map(\.name), equals: ["live", "r3"])
            let rows = try await engine.read { try $0.zones(owner: .everyone) }
            try expect(rows.map(\.purgedUntil), equals: [max(sequences[0], sequences[2]), sequences[1]])
        },
        .engine("Zones that were deleted long ago and are empty are forgotten") { engine in
            let owner = OwnerID(rawValue: 5)
            let zones = try await ["A", "B", "C"].asyncMap { try await engine.makeZone($0, owner: owner) }
            try await engine.save(zones[1], "a")
            var sequences: [Int64] = []
            for (zone, time) in zip(zones, [Int64(10), 10, 20]) {
                sequences.append(
                    try await engine.write { transaction in
                        let sequence = try transaction.nextSequence()
                        try transaction.markZoneDeleted(zone, sequence: sequence, at: time, reason: 0)
                        return sequence
                    })
            }
            try expect(try await engine.read { try $0.zonesForgotten(owner: owner) }, equals: 0)
            try expect(try await engine.write { try $0.forgetZones(deletedBefore: 20, limit: 9) }, equals: 1)
            try expect(try await engine.read { try $0.zonesForgotten(owner: owner) }, equals: sequences[0])
            let left = try await engine.read { try $0.deletedZones(owner: owner, after: 0, limit: 9).map(\.name) }
            try expect(left, equals: ["B", "C"])
            _ = try await engine.write { try $0.purgeRecords(zone: zones[1], limit: 9) }
            try expect(try await engine.write { try $0.forgetZones(deletedBefore: 99, limit: 9) }, equals: 2)
            try expect(try await engine.read { try $0.zonesForgotten(owner: owner) }, equals: sequences[2])
            try expect(try await engine.read { try $0.zonesForgotten(owner: .everyone) }, equals: 0)
        },
        .engine("A live zone cannot be purged") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "a")
            try await expect(.constraint, "purging a live zone") {
                _ = try await engine.write { try $0.purgeRecords(zone: zone, limit: 10) }
            }
            try expect(try await engine.allRecords(zone).count, equals: 1)
        },
    ]
}
