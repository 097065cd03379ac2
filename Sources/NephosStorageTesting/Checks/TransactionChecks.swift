import NephosStorage

extension StorageConformance {
    static let transactions: [StorageCheck] = [
        .engine("A transaction sees its own writes") { engine in
            try await engine.write { transaction in
                let zone = try transaction.insertZone(owner: .everyone, name: "Z", sequence: 1)
                try expect(try transaction.zone(owner: .everyone, named: "Z"), equals: zone)
                let row = RecordRow.sample(zone.key, "a", sequence: 2)
                try transaction.put(row)
                try expect(try transaction.record(zone: zone.key, named: "a"), equals: row)
                let edge = ReferenceRow(zone: zone.key, target: "a", kind: .validate, source: "b")
                try transaction.insert(edge)
                try expect(try transaction.references(zone: zone.key, from: "b"), equals: [edge])
                try transaction.remove(edge)
                try expect(try transaction.references(zone: zone.key, from: "b"), equals: [])
                try transaction.markZoneDeleted(zone.key, sequence: 3, at: 1, reason: 0)
                try expect(try transaction.zones(owner: .everyone), equals: [])
            }
        },
        .engine("A write that throws keeps nothing and throws the same") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "before")
            do {
                try await engine.write { transaction in
                    try transaction.put(.sample(zone, "before", sequence: 500, fields: "changed"))
                    try transaction.put(.sample(zone, "new", sequence: 501))
                    try transaction.insert(ReferenceRow(zone: zone, target: "t", kind: .parent, source: "s"))
                    try transaction.insertRecordType("T")
                    try transaction.insert(JobRow(kind: "k", zone: zone, subject: "s"))
                    _ = try transaction.insertAccount(name: "n", userRecordName: "_n")
                    _ = try transaction.insertZone(owner: .everyone, name: "Other", sequence: 502)
                    throw Refusal()
                }
                throw CheckFailure("the write succeeded", file: #fileID, line: #line)
            } catch is Refusal {}
            let left = try await engine.read { reader in
                [
                    try reader.records(zone: zone, after: 0, limit: 10).count, try reader.recordTypes().count,
                    try reader.references(zone: zone, from: "s").count, try reader.jobs(limit: 10).count,
                    try reader.account(named: "n") == nil ? 0 : 1, try reader.zones(owner: .everyone).count,
                ]
            }
            try expect(left, equals: [1, 0, 0, 0, 0, 1])
            try expect(try await engine.record(zone, "before")?.fields, equals: Array("{}".utf8))
        },
        .engine("A write that throws among others that wait is undone alone") { engine in
            let zone = try await engine.makeZone()
            let results = await withTaskGroup(of: (Int, Bool).self) { group in
                for index in 0..<200 {
                    group.addTask {
                        do {
                            try await engine.write { transaction in
                                let sequence = try transaction.nextSequence()
                                try transaction.put(.sample(zone, "r\(index)", sequence: sequence))
                                if index % 3 == 0 { throw Refusal() }
                            }
                            return (index, true)
                        } catch {
                            return (index, false)
                        }
                    }
                }
                return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
            }
            let names = Set(try await engine.allRecords(zone).map(\.name))
            for index in 0..<200 {
                try expect(results[index], equals: index % 3 != 0, "write \(index)")
                try expect(names.contains("r\(index)"), equals: index % 3 != 0, "record \(index)")
            }
        },
        .engine("An operation that fails fails its write, even if the body goes on") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { _ = try $0.put(.sample(zone, "a", sequence: 100)) }
            try await expect(.constraint, "a body that ignores the failure") {
                try await engine.write { transaction in
                    try transaction.put(.sample(zone, "b", sequence: 101))
                    _ = try? transaction.put(.sample(zone, "c", sequence: 100))
                    _ = try? transaction.put(.sample(zone, "d", sequence: 102))
                }
            }
            try expect(try await engine.allRecords(zone).map(\.name), equals: ["a"])
        },
        .engine("A text with a NUL is refused") { engine in
            let zone = try await engine.makeZone()
            try await expect(.text, "a name with a NUL") { try await engine.save(zone, "a\0b") }
            try await expect(.text, "the name of a zone") { _ = try await engine.makeZone("\0") }
            try await expect(.text, "a look-up") {
                _ = try await engine.read { try $0.zone(owner: zone.owner, named: "a\0b") }
            }
            try expect(try await engine.allRecords(zone), equals: [])
        },
        .engine("A write returns what its body returns, a read too, and each throws what its body throws") { engine in
            try expect(try await engine.write { _ in "value" }, equals: "value")
            try expect(try await engine.read { _ in [1, 2] }, equals: [1, 2])
            let none: Int? = nil
            try expect(try await engine.write { _ in none }, equals: nil)
            do {
                try await engine.read { _ in throw Refusal() }
                throw CheckFailure("the read succeeded", file: #fileID, line: #line)
            } catch is Refusal {}
            try expect(try await engine.read { _ in 1 }, equals: 1, "a read after one that threw:")
        },
        .engine("Sequences increase within a write, between writes and after one that throws") { engine in
            var last: Int64 = 0
            for round in 0..<30 {
                let before = last
                do {
                    last = try await engine.write { transaction in
                        var previous = before
                        for _ in 0..<5 {
                            let next = try transaction.nextSequence()
                            try expect(next > previous, "\(next) is larger than \(previous)")
                            previous = next
                        }
                        if round % 3 == 0 { throw Refusal() }
                        return previous
                    }
                } catch is Refusal {}
            }
        },
        StorageCheck("Sequences go on where they were after the store was opened again") { store in
            guard store.keepsData else { return }
            var last: Int64 = 0
            for _ in 0..<4 {
                let before = last
                last = try await store.run { engine in
                    try? await engine.write { transaction in
                        _ = try transaction.nextSequence()
                        throw Refusal()
                    }
                    let zone = try await engine.makeZone("Z\(before)")
                    return try await engine.save(zone, "a")
                }
                try expect(last > before, "\(last) is larger than \(before)")
            }
        },
        .engine("A transaction or reader that is kept beyond its body can no longer be used") { engine in
            let kept = Kept()
            try await engine.write { kept.transaction = $0 }
            try await engine.read { kept.reader = $0 }
            try await expect(.other, "the transaction") { _ = try kept.transaction?.recordTypes() }
            try await expect(.other, "its sequences") { _ = try kept.transaction?.nextSequence() }
            try await expect(.other, "the reader") { _ = try kept.reader?.recordTypes() }
        },
    ]

    /// Lets the suite use a reader or transaction after its body has returned. Only one task at a time uses it.
    private final class Kept: @unchecked Sendable {
        var transaction: StorageTransaction?
        var reader: StorageReader?
    }
}
