import NephosStorage

extension StorageConformance {
    static let records: [StorageCheck] = [
        .engine("Records are written and read by sets of names, which are compared by their bytes") { engine in
            let (zone, other) = (try await engine.makeZone(), try await engine.makeZone("Other"))
            let numbers = try await engine.write { transaction in
                try transaction.put(
                    ["a", "b", "é", "e\u{301}"].map {
                        .sample(zone, $0, sequence: try transaction.nextSequence(), isDeleted: $0 == "b")
                    }) + transaction.put([.sample(other, "c", sequence: try transaction.nextSequence())])
            }
            try expect(Set(numbers.map(\.value)).count, equals: 5)
            let rows = try await engine.read { try $0.records(zone: zone, named: ["é", "b", "none", "c", "a"]) }
            try expect(Set(rows.map(\.name).asBytes), equals: Set(["é", "b", "a"].asBytes))
            try expect(rows.count, equals: 3)
            try expect(rows.filter(\.isDeleted).map(\.name), equals: ["b"])
            try expect(try await engine.read { try $0.records(zone: zone, named: []) }, equals: [])
        },
        .engine("A record is read as it was written, every column of it") { engine in
            let zone = try await engine.makeZone()
            let rows = [
                RecordRow.sample(zone, "plain", sequence: 10),
                RecordRow.sample(zone, "linked", sequence: 11, parent: "plain", share: "share", fields: #"{"a":1}"#),
                RecordRow(
                    zone: zone, name: "extreme", type: "", sequence: 12, createdAt: .min, createdBy: .max,
                    modifiedAt: -1, modifiedBy: 0, parent: "", share: "", fields: []),
            ]
            for row in rows { try await engine.write { _ = try $0.put(row) } }
            for row in rows { try expect(try await engine.record(zone, row.name), equals: row) }
        },
        .engine("A tombstone takes the place of a record of any size, under the same number") { engine in
            let (zone, sizes) = (try await engine.makeZone(), [0, 200, 256, 257, 3000, 100_000])
            for size in sizes { try await engine.save(zone, "r\(size)", fields: String(repeating: "x", count: size)) }
            let rows = try await engine.allRecords(zone)
            for row in rows {
                var tombstone = row
                (tombstone.isDeleted, tombstone.fields) = (true, [])
                let written = try await engine.write { [tombstone] transaction in
                    var tombstone = tombstone
                    tombstone.sequence = try transaction.nextSequence()
                    try expect(try transaction.put(tombstone), equals: row.number)
                    return tombstone
                }
                try expect(try await engine.record(zone, row.name), equals: written)
            }
            try expect(try await engine.allRecords(zone).map(\.number), equals: rows.map(\.number))
        },
        .engine("A record that does not exist is nil") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "a")
            try expect(try await engine.record(zone, "b"), equals: nil)
            try expect(try await engine.record(zone, ""), equals: nil)
            try expect(try await engine.record(ZoneKey(owner: OwnerID(rawValue: 5), id: zone.id), "a"), equals: nil)
            try expect(try await engine.record(ZoneKey(owner: zone.owner, id: zone.id + 1), "a"), equals: nil)
        },
        .engine("A lookup finds the one record that it names, and may read more than that") { engine in
            let (zone, other) = (try await engine.makeZone(), try await engine.makeZone("Other"))
            try await engine.save(zone, "a")
            try await engine.save(other, "a", fields: "other", isDeleted: true)
            @Sendable func lookup(_ zone: String, _ names: [String], owner: OwnerID = .everyone) async throws
                -> [RecordRow?]
            {
                try await engine.read(expecting: .lookup) { reader in
                    reader.expectZone(named: zone, records: names, shares: 0)
                    guard let zone = try reader.zone(owner: owner, named: zone) else { return [] }
                    return try names.map { try reader.record(zone: zone.key, named: $0) }
                }
            }
            try expect(try await lookup("Zone", ["a"]), equals: [try await engine.record(zone, "a")])
            try expect(try await lookup("Other", ["a"]), equals: [try await engine.record(other, "a")])
            try expect(try await lookup("Zone", ["none"]), equals: [nil])
            try expect(try await lookup("None", ["a"]), equals: [])
            try expect(try await lookup("Zone", ["a"], owner: OwnerID(rawValue: 5)), equals: [])
            try expect(try await lookup("Zone", ["a", "none"]).map { $0?.name }, equals: ["a", nil])
            try await expect(.text, "a name with a NUL") { _ = try await lookup("Zone", ["a\u{0}"]) }
            do {
                try await engine.read(expecting: .lookup) { reader in
                    reader.expectZone(named: "Zone", records: ["a"], shares: 0)
                    _ = try reader.zone(owner: .everyone, named: "Zone")
                    throw Refusal()
                }
                try expect(false, "what the body throws is thrown")
            } catch is Refusal {}
            let both = try await engine.read(expecting: .lookup) { reader in
                reader.expectZone(named: "Zone", records: ["a"], shares: 0)
                let found = try reader.zone(owner: .everyone, named: "Zone")
                let zones = try reader.zones(owner: .everyone)
                return (found?.name, zones.map(\.name))
            }
            try expect(both.0, equals: "Zone")
            try expect(both.1, equals: ["Other", "Zone"])
            try expect(try await engine.read(expecting: .lookup) { _ in 1 }, equals: 1)
            // A read after an answered write sees the write, whichever method reads.
            for sequence in 0..<20 {
                let fields = "\(sequence)"
                try await engine.save(zone, "a", fields: fields)
                try expect(try await lookup("Zone", ["a"]).first??.fields, equals: Array(fields.utf8))
            }
        },
        .engine("Writing a record again replaces every column and moves it in the feed") { engine in
            let zone = try await engine.makeZone()
            try await engine.write {
                try $0.put(.sample(zone, "a", sequence: 5, parent: "p", share: "s", fields: "first"))
                try $0.put(.sample(zone, "b", sequence: 6))
            }
            let second = RecordRow(
                zone: zone, name: "a", type: "Other", sequence: 7, createdAt: 1, createdBy: 2, modifiedAt: 3,
                modifiedBy: 4, fields: Array("second".utf8))
            try await engine.write { _ = try $0.put(second) }
            try expect(try await engine.record(zone, "a"), equals: second)
            try expect(try await engine.allRecords(zone).map(\.name), equals: ["b", "a"])
        },
        .engine("A tombstone replaces its record, and a record its tombstone") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "a", fields: "text")
            let deleted = RecordRow.sample(zone, "a", sequence: 50, isDeleted: true, fields: "")
            try await engine.write { _ = try $0.put(deleted) }
            try expect(try await engine.record(zone, "a"), equals: deleted)
            try expect(try await engine.allRecords(zone), equals: [deleted])
            let again = RecordRow.sample(zone, "a", sequence: 51, fields: "again")
            try await engine.write { _ = try $0.put(again) }
            try expect(try await engine.allRecords(zone), equals: [again])
        },
        .engine("A record keeps its number, and is found by it") { engine in
            let zone = try await engine.makeZone()
            let other = try await engine.makeZone("Other")
            let first = try await engine.write { try $0.put(.sample(zone, "a", sequence: 10)) }
            let second = try await engine.write { try $0.put(.sample(other, "a", sequence: 11)) }
            try expect(Set([0, first.value, second.value]).count, equals: 3, "numbers")
            // Writes the record with the number from its last read, without a number, and with the number of another
            // record.
            for (sequence, number) in [(12, first), (13, RowNumber()), (14, second)] as [(Int64, RowNumber)] {
                var row = RecordRow.sample(zone, "a", sequence: sequence, fields: "{\(sequence)}")
                row.number = number
                let written = row
                try expect(try await engine.write { try $0.put(written) }.value, equals: first.value)
                let (found, visited) = try await engine.read { reader in
                    var visited: RecordRow?
                    try reader.visitRecord(first, zone: zone) { visited = $0.row }
                    return (try reader.record(first, zone: zone), visited)
                }
                try expect(found, equals: written)
                try expect(visited, equals: written)
                try expect(try await engine.record(zone, "a")?.number.value, equals: first.value)
            }
            try expect(try await engine.record(other, "a")?.sequence, equals: 11, "the other zone's record")
            try expect(try await engine.read { try $0.record(RowNumber(.max), zone: zone) }, equals: nil)
            try expect(try await engine.read { try $0.record(first, zone: other) }, equals: nil)
        },
        .engine("Records' names are told apart by their bytes") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { transaction in
                for name in trickyTexts {
                    try transaction.put(
                        .sample(zone, name, sequence: try transaction.nextSequence(), type: name, fields: name))
                }
            }
            for name in trickyTexts {
                let row = try unwrap(try await engine.record(zone, name), "record \(name)")
                try expect(Bytes(row.name), equals: Bytes(name))
                try expect(Bytes(row.type), equals: Bytes(name))
                try expect(row.fields, equals: Array(name.utf8))
            }
            try expect(try await engine.allRecords(zone).count, equals: trickyTexts.count)
        },
        .engine("A name lives in each zone of each owner for itself") { engine in
            var zones: [ZoneKey] = []
            for owner in 0..<3 {
                for name in ["x", "y"] {
                    zones.append(try await engine.makeZone(name, owner: OwnerID(rawValue: Int64(owner))))
                }
            }
            for zone in zones { try await engine.save(zone, "same", fields: "\(zone.id)") }
            for zone in zones {
                let records = try await engine.allRecords(zone)
                try expect(records.map(\.zone), equals: [zone])
                try expect(records.map(\.fields), equals: [Array("\(zone.id)".utf8)])
            }
        },
        .engine("Fields are any bytes, from none to more than a megabyte") { engine in
            let zone = try await engine.makeZone()
            for size in [0, 1, 255, 256, 4095, 4096, 65_536, 1_048_576, 1_200_000] {
                var row = RecordRow.sample(zone, "r\(size)", sequence: Int64(size) + 100)
                row.fields = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                let written = row
                try await engine.write { _ = try $0.put(written) }
                try expect(try await engine.record(zone, row.name) == written, "\(size) bytes come back as they were")
            }
        },
        .engine("A sequence belongs to one record of a zone") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { _ = try $0.put(.sample(zone, "a", sequence: 9)) }
            try await expect(.constraint, "a second record with the sequence") {
                try await engine.write { _ = try $0.put(.sample(zone, "b", sequence: 9)) }
            }
            try expect(try await engine.allRecords(zone).map(\.name), equals: ["a"])
        },
    ]

    static let changes: [StorageCheck] = [
        .engine("The sizes of records are those of one zone, in pieces, tombstones included") { engine in
            let (zone, other) = (try await engine.makeZone(), try await engine.makeZone("Other"))
            for (name, size) in [("a", 10), ("b", 0), ("c", 300)] {
                try await engine.save(zone, name, fields: String(repeating: "x", count: size), isDeleted: size == 0)
                try await engine.save(other, name, fields: "{}")
            }
            let ends = try await engine.read { try $0.records(zone: zone, after: 0, limit: 9) }.map(\.sequence)
            func sizes(_ zone: ZoneKey, _ after: Int64, _ limit: Int) async throws -> [Int64] {
                let sizes = try await engine.read { try $0.recordSizes(zone: zone, after: after, limit: limit) }
                return [Int64(sizes.count), sizes.bytes, sizes.lastSequence]
            }
            try expect(try await sizes(zone, 0, 2), equals: [2, 12, ends[1]])
            try expect(try await sizes(zone, ends[1], 2), equals: [1, 301, ends[2]])
            try expect(try await sizes(zone, ends[2], 2), equals: [0, 0, ends[2]])
            try expect(Array(try await sizes(other, 0, 9).prefix(2)), equals: [3, 9])
        },
        .engine("The sizes of keys are those of one zone, in pieces, whatever their kinds") { engine in
            let (zone, other) = (try await engine.makeZone(), try await engine.makeZone("Other"))
            try await engine.write { transaction in
                for (kind, subject) in [(KeyRow.Kind.groupKey, ""), (.recordKey, "b"), (.recordKey, "a")] {
                    for number in UInt8(1)...2 {
                        try transaction.put(
                            KeyRow(zone: zone, kind: kind, subject: subject, id: [number], body: [0, 1, 2]))
                    }
                }
                try transaction.put(KeyRow(zone: other, kind: .perZone, id: [], body: []))
            }
            func sizes(_ zone: ZoneKey, _ limit: Int) async throws -> [Int64] {
                var (position, sizes) = (StorageReader.KeyPosition(), [Int64]())
                while true {
                    let page = try await engine.read { [position] in
                        try $0.keySizes(zone: zone, after: position, limit: limit)
                    }
                    if page.count == 0 { return sizes }
                    sizes.append(page.bytes)
                    position = page.last
                }
            }
            try expect(try await sizes(zone, 9), equals: [28])
            try expect(try await sizes(zone, 4), equals: [18, 10])
            try expect(try await sizes(zone, 1), equals: [4, 4, 5, 5, 5, 5])
            try expect(try await sizes(other, 9), equals: [0])
        },
        .engine("Changes come in the order of their sequences, after the one given, up to the limit") { engine in
            let zone = try await engine.makeZone()
            let other = try await engine.makeZone("Other")
            let sequences = try await engine.write { transaction in
                try (0..<100).map { index in
                    let sequence = try transaction.nextSequence()
                    try transaction.put(.sample(index % 4 == 3 ? other : zone, "r\(index)", sequence: sequence))
                    return sequence
                }
            }
            let expected = sequences.indices.filter { $0 % 4 != 3 }.map { sequences[$0] }
            for (after, limit) in [(0, 1000), (0, 75), (0, 10), (expected[10], 10), (expected[74], 10), (Int64.max, 5)]
            {
                let rows = try await engine.read { try $0.records(zone: zone, after: after, limit: limit) }
                let wanted = expected.filter { $0 > after }.prefix(limit)
                try expect(rows.map(\.sequence), equals: Array(wanted), "after \(after), limit \(limit):")
            }
        },
        .engine("Changes end with the row that fills the given size, and never before the first") { engine in
            let zone = try await engine.makeZone()
            for index in 0..<5 { try await engine.save(zone, "r\(index)", fields: String(repeating: "x", count: 10)) }
            for (size, expected) in [(1, 1), (10, 1), (11, 2), (20, 2), (25, 3), (50, 5), (1000, 5), (0, 0)] {
                let rows = try await engine.read { try $0.records(zone: zone, after: 0, limit: 9, size: size) }
                try expect(rows.count, equals: expected, "size \(size):")
            }
        },
        .engine("Records are visited where the database has them, and other things can be read meanwhile") { engine in
            let zone = try await engine.makeZone()
            for index in 0..<5 { try await engine.save(zone, "r\(index)", fields: "{\(index)}", isDeleted: index == 3) }
            let (visited, copies) = try await engine.read { reader in
                var visited: [String] = []
                var copies: [RecordRow] = []
                try reader.visitRecords(zone: zone, after: 0, limit: 4, size: .max) { record in
                    let other = try reader.record(zone: zone, named: "r0")
                    visited.append(
                        String(decoding: record.name, as: UTF8.self) + String(decoding: record.fields, as: UTF8.self)
                            + (record.isDeleted ? " deleted" : "") + (other == nil ? " alone" : ""))
                    copies.append(record.row)
                }
                return (visited, copies)
            }
            try expect(visited, equals: ["r0{0}", "r1{1}", "r2{2}", "r3{3} deleted"])
            try expect(copies, equals: try await engine.read { try $0.records(zone: zone, after: 0, limit: 4) })
        },
        .engine("A zone's last sequence is its newest record's or tombstone's, and 0 without any") { engine in
            let zone = try await engine.makeZone()
            let other = try await engine.makeZone("Other")
            func last() async throws -> Int64 { try await engine.read { try $0.completeUpTo(zone: zone) } }
            try expect(try await last(), equals: 0)
            for (name, isDeleted) in [("a", false), ("b", false), ("a", false), ("b", true)] {
                let sequence = try await engine.save(zone, name, isDeleted: isDeleted)
                try await engine.save(other, name)
                try expect(try await last(), equals: sequence)
            }
        },
        .engine("A limit of zero or less gives nothing") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "a")
            for limit in [0, -1, .min] {
                let rows = try await engine.read { reader in
                    try reader.records(zone: zone, after: 0, limit: limit).count + reader.jobs(limit: limit).count
                }
                try expect(rows, equals: 0, "limit \(limit):")
            }
        },
        .engine("Changes are read page by page to the last, while others are written") { engine in
            let zone = try await engine.makeZone()
            for index in 0..<50 { try await engine.save(zone, "old\(index)") }
            let writer = Task {
                for index in 0..<100 {
                    try await engine.save(zone, index % 3 == 0 ? "old\(index % 50)" : "new\(index)")
                }
            }
            var seen: Set<String> = []
            var last: Int64 = 0
            var isFinished = false
            while true {
                let after = last
                let page = try await engine.read { try $0.records(zone: zone, after: after, limit: 7) }
                for row in page {
                    try expect(row.sequence > last, "sequences increase")
                    last = row.sequence
                    seen.insert(row.name)
                }
                if page.isEmpty {
                    if isFinished { break }
                    try await writer.value
                    isFinished = true
                }
            }
            let names = try await engine.allRecords(zone).map(\.name)
            try expect(seen, equals: Set(names), "no change was skipped:")
        },
        .engine("Thousands of records are read whole") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { transaction in
                for index in 0..<5000 {
                    try transaction.put(.sample(zone, "record-\(index)", sequence: try transaction.nextSequence()))
                }
            }
            let rows = try await engine.allRecords(zone)
            try expect(rows.map(\.name), equals: (0..<5000).map { "record-\($0)" })
        },
    ]
}
