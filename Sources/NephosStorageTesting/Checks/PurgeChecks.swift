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
