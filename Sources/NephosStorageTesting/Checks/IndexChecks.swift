import NephosStorage

extension StorageConformance {
    static let indexes: [StorageCheck] = [
        .engine("Index definitions are kept with their progress, in the order in which they were made") { engine in
            let made = try await engine.write { transaction in
                [
                    try transaction.insertIndexDefinition(recordType: "Note", components: "=a", sequence: 7),
                    try transaction.insertIndexDefinition(recordType: "Note", components: "", sequence: 8),
                    try transaction.insertIndexDefinition(recordType: "note", components: "=a", sequence: 9),
                ]
            }
            try expect(try await engine.read { try $0.indexDefinitions() }, equals: made)
            try expect(made.map(\.isReady), equals: [false, false, false])
            var second = made[1]
            second.isReady = true
            second.builtZone = 5
            second.builtSequence = Int64.max
            let changed = second
            try await engine.write { try $0.updateIndexDefinition(changed) }
            try await engine.write { try $0.removeIndexDefinition(id: made[0].id) }
            try expect(try await engine.read { try $0.indexDefinitions() }, equals: [changed, made[2]])
            let again = try await engine.write {
                try $0.insertIndexDefinition(recordType: "Note", components: "=a", sequence: 10)
            }
            try expect(again.id > made[2].id, "an id is never given again")
        },
        .engine("Two indexes of one type cannot have the same components") { engine in
            let make: @Sendable (StorageTransaction) throws -> Void = {
                _ = try $0.insertIndexDefinition(recordType: "Note", components: "=a", sequence: 1)
            }
            try await engine.write(make)
            try await expect(.constraint, "a second index of the same") { try await engine.write(make) }
        },
        .engine("Entries are read in the order of the bytes of their values, then of their names") { engine in
            let zone = try await engine.makeZone()
            let values: [[UInt8]] = [
                [], [0], [0, 0], [0, 255], [1], [1, 0], [127], [128], [255], [255, 0], [255, 255],
            ]
            let all = values.flatMap { value in
                trickyTexts.sortedByBytes().map { IndexPosition(value: value, name: $0) }
            }
            try await engine.write { transaction in
                for entry in all.reversed() {
                    try transaction.insert(
                        IndexEntryRow(zone: zone, definition: 1, value: entry.value, name: entry.name))
                }
            }
            let whole = IndexRange(zone: zone, definition: 1, from: [], to: [255, 255, 0])
            try expect(keys(try await engine.entries(whole)), equals: keys(all))
            // Reads page by page: each page begins after the last entry of the previous page.
            var paged: [IndexPosition] = []
            while true {
                let last = paged.last
                let page = try await engine.read { try $0.indexEntries(whole, after: last, limit: 17) }
                paged += page
                if page.count < 17 { break }
            }
            try expect(keys(paged), equals: keys(all))
        },
        .engine(
            "The records of a range come in its order, each with its value, and those that are missing are left out"
        ) {
            engine in
            let zone = try await engine.makeZone("Zone")
            let other = try await engine.makeZone("Other")
            let names = trickyTexts.filter { $0 != "10" }.sortedByBytes()
            let values: [[UInt8]] = [[], [0], [7, 255], [255]]
            try await engine.write { transaction in
                for (index, name) in trickyTexts.enumerated() {
                    // A record of another zone with the same name must not appear in this zone's result.
                    let number = try transaction.put(
                        .sample(
                            name == "10" ? other : zone, name, sequence: Int64(1000 + index),
                            isDeleted: index % 7 == 0, parent: index % 3 == 0 ? "p" : nil, fields: "{\(index)}"))
                    for value in values {
                        try transaction.insert(
                            IndexEntryRow(
                                zone: zone, definition: 1, value: value, name: name,
                                record: number.value))
                    }
                }
            }
            let range = IndexRange(zone: zone, definition: 1, from: [], to: [255])
            let expected = try await engine.read { reader in
                try values.dropLast().flatMap { value in
                    try names.compactMap { name in
                        try reader.record(zone: zone, named: name).map { (value: value, record: $0) }
                    }
                }
            }
            for limit in [5, 1000] {
                var found: [(value: [UInt8], record: RecordRow)] = []
                while true {
                    let last = found.last.map { IndexPosition(value: $0.value, name: $0.record.name) }
                    let page = try await engine.read { reader in
                        var page: [(value: [UInt8], record: RecordRow)] = []
                        // The limit is one more than the page needs, because `body` returns false once the page is
                        // full.
                        try reader.visitIndexedRecords(range, after: last, limit: limit + 1, expecting: 1) {
                            record, value in
                            _ = try reader.record(zone: zone, named: "10")
                            page.append((Array(value.bytes), record.row))
                            return page.count < limit
                        }
                        return page
                    }
                    found += page
                    if page.count < limit { break }
                }
                try expect(found.map(\.record), equals: expected.map(\.record), "records, \(limit) at a time")
                try expect(found.map(\.value), equals: expected.map(\.value), "values, \(limit) at a time")
            }
        },
        .engine("A range holds what is at least its beginning and less than its end") { engine in
            let zone = try await engine.makeZone()
            let values: [[UInt8]] = [[], [0], [1], [1, 0], [1, 1], [2], [255]]
            try await engine.insertEntries(zone, values)
            for from in values {
                for to in values + [[255, 255]] {
                    let range = IndexRange(zone: zone, definition: 1, from: from, to: to)
                    let inside = values.filter {
                        !$0.lexicographicallyPrecedes(from) && $0.lexicographicallyPrecedes(to)
                    }
                    try expect(try await engine.entries(range).map(\.value), equals: inside, "from \(from) to \(to)")
                    for limit in [0, 1, 3, Int.max] {
                        try expect(
                            try await engine.read { try $0.countIndexEntries(range, limit: limit) },
                            equals: min(limit, inside.count), "count from \(from) to \(to)")
                    }
                    // A position before the range must not move the start of the page before the range.
                    let after = try await engine.read {
                        try $0.indexEntries(range, after: IndexPosition(value: [], name: "r"), limit: .max)
                    }
                    try expect(after.map(\.value), equals: inside.filter { !$0.isEmpty })
                }
            }
        },
        .engine("Entries are those of one zone and one index; adding twice and removing nothing change nothing") {
            engine in
            let first = try await engine.makeZone("First")
            let second = try await engine.makeZone("Second", owner: OwnerID(rawValue: 1))
            let entry = IndexEntryRow(zone: first, definition: 1, value: [1], name: "r")
            var others = [entry, entry, entry, entry]
            others[0].zone = second
            others[1].definition = 2
            others[2].value = [2]
            others[3].name = "R"
            let all = [entry] + others
            try await engine.write { transaction in
                for row in all + all { try transaction.insert(row) }
            }
            try await engine.write { transaction in
                try transaction.remove(entry)
                try transaction.remove(entry)
            }
            for row in all {
                try expect(try await engine.read { try $0.hasIndexEntry(row) }, equals: row != entry, "\(row)")
            }
        },
        .engine("A part of an index is removed, as many entries at a time as asked") { engine in
            let zone = try await engine.makeZone()
            try await engine.insertEntries(zone, (0..<30).map { [$0] })
            let range = IndexRange(zone: zone, definition: 1, from: [5], to: [25])
            var counts: [Int] = []
            for _ in 0..<4 {
                counts.append(try await engine.write { try $0.removeIndexEntries(range, limit: 8) })
            }
            try expect(counts, equals: [8, 8, 4, 0])
            let left = try await engine.entries(IndexRange(zone: zone, definition: 1, from: [], to: [255]))
            try expect(left.map(\.value), equals: (Array(0..<5) + Array(25..<30)).map { [$0] })
        },
        .engine("A purge removes the index entries of its zone alone") { engine in
            let kept = try await engine.makeZone("Kept")
            let gone = try await engine.makeZone("Gone")
            for zone in [kept, gone] {
                try await engine.save(zone, "r")
                for definition: Int64 in [1, 2, 3] {
                    try await engine.insertEntries(zone, (0..<30).map { [$0] }, definition: definition)
                }
            }
            try await engine.delete(gone)
            var steps = 0
            while try await engine.write({ try $0.purgeRecords(zone: gone, limit: 2) }) == 2 {
                steps += 1
                try expect(steps < 20, "a purge ends")
            }
            for definition: Int64 in [1, 2, 3] {
                for (zone, count) in [(kept, 30), (gone, 0)] {
                    let range = IndexRange(zone: zone, definition: definition, from: [], to: [255])
                    try expect(try await engine.entries(range).count, equals: count, "index \(definition) of \(zone)")
                }
            }
        },
        .engine("The purge of a zone that was forgotten meanwhile goes on to its end") { engine in
            for (name, count) in [("Empty", 0), ("Whole step", 2)] {
                let zone = try await engine.makeZone(name)
                try await engine.insertEntries(zone, (0..<30).map { [$0] })
                for index in 0..<count { try await engine.save(zone, "r\(index)") }
                try await engine.delete(zone)
                var purged = 0
                if count > 0 { purged = try await engine.write { try $0.purgeRecords(zone: zone, limit: 2) } }
                try expect(purged, equals: count)
                try expect(try await engine.write { try $0.forgetZones(deletedBefore: 99, limit: 9) }, equals: 1)
                repeat {
                    purged = try await engine.write { try $0.purgeRecords(zone: zone, limit: 2) }
                } while purged == 2
                try expect(purged, equals: 0)
                let range = IndexRange(zone: zone, definition: 1, from: [], to: [255])
                try expect(try await engine.entries(range), equals: [])
            }
        },
        .engine("The live zones of all owners are listed by their ids, a page at a time") { engine in
            var zones = try await engine.read { try $0.zones(after: 0, limit: .max) }.map(\.key)
            for owner: Int64 in [3, 0, 3, 1] {
                zones.append(try await engine.makeZone("Z\(zones.count)", owner: OwnerID(rawValue: owner)))
            }
            try await engine.delete(zones.removeLast())
            var found: [ZoneKey] = []
            while true {
                let last = found.last?.id ?? 0
                let page = try await engine.read { try $0.zones(after: last, limit: 2) }
                if page.isEmpty { break }
                found += page.map(\.key)
            }
            try expect(found, equals: zones)
        },
    ]

    /// Returns the positions with the UTF-8 bytes of their names. Names that are equal as strings may have different
    /// bytes.
    private static func keys(_ positions: [IndexPosition]) -> [[Bytes]] {
        positions.map { [Bytes(String(describing: $0.value)), Bytes($0.name)] }
    }
}

extension StorageEngine {
    fileprivate func entries(_ range: IndexRange) async throws -> [IndexPosition] {
        try await read { try $0.indexEntries(range, after: nil, limit: .max) }
    }

    fileprivate func insertEntries(_ zone: ZoneKey, _ values: [[UInt8]], definition: Int64 = 1) async throws {
        try await write { transaction in
            for value in values {
                try transaction.insert(IndexEntryRow(zone: zone, definition: definition, value: value, name: "r"))
            }
        }
    }
}
