import NephosStorage
import NephosTesting

extension StorageConformance {
    static let concurrency: [StorageCheck] = [
        .engine("Many writers of one zone lose nothing and share no sequence") { engine in
            let zone = try await engine.makeZone()
            let sequences = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for task in 0..<32 {
                    group.addTask {
                        var sequences: [Int64] = []
                        for index in 0..<20 {
                            let sequence = try await engine.save(zone, "t\(task)-\(index)")
                            try expect(sequence > sequences.last ?? 0, "a task's own writes are in order")
                            sequences.append(sequence)
                        }
                        return sequences
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try expect(Set(sequences).count, equals: 640)
            let rows = try await engine.allRecords(zone)
            try expect(rows.map(\.sequence), equals: sequences.sorted())
        },
        .engine("Writers that read and then write the same record never overwrite each other") { engine in
            let zone = try await engine.makeZone()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        for _ in 0..<20 {
                            try await engine.write { transaction in
                                let row = try transaction.record(zone: zone, named: "counter")
                                let count = row.flatMap { Int(String(decoding: $0.fields, as: UTF8.self)) } ?? 0
                                let sequence = try transaction.nextSequence()
                                try transaction.put(
                                    .sample(zone, "counter", sequence: sequence, fields: "\(count + 1)"))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try expect(try await engine.record(zone, "counter")?.fields, equals: Array("400".utf8))
        },
        .engine("Many readers and writers side by side all finish") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "r0")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 {
                    group.addTask {
                        for index in 0..<20 { try await engine.save(zone, "r\((task * 7 + index) % 50)") }
                    }
                    group.addTask {
                        for _ in 0..<40 {
                            let rows = try await engine.read { try $0.records(zone: zone, after: 0, limit: 20) }
                            let sequences = rows.map(\.sequence)
                            try expect(sequences, equals: sequences.sorted())
                            try expect(Set(rows.map(\.name)).count, equals: rows.count, "each name comes once:")
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
        .engine("A sequence that was taken alone is above those of all that was committed, and below the others") {
            engine in
            let zone = try await engine.makeZone()
            let seen = try await withThrowingTaskGroup(of: [Int64: Set<Int64>].self) { group in
                for task in 0..<12 {
                    group.addTask {
                        var seen: [Int64: Set<Int64>] = [:]
                        for index in 0..<10 {
                            if task < 9 {
                                try await engine.save(zone, "t\(task)-\(index)")
                                continue
                            }
                            let (sequence, before) = try await engine.write { transaction in
                                let sequence = try transaction.nextSeparatingSequence()
                                let rows = try transaction.records(zone: zone, after: 0, limit: .max)
                                return (sequence, Set(rows.map(\.sequence)))
                            }
                            seen[sequence] = before
                        }
                        return seen
                    }
                }
                return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
            }
            try expect(seen.count, equals: 30)
            let all = Set(try await engine.allRecords(zone).map(\.sequence))
            try expect(all.count, equals: 90)
            for (sequence, before) in seen { try expect(before, equals: all.filter { $0 < sequence }) }
        },
        .engine("A random history of writes leaves what a dictionary would hold") { engine in
            let seed = UInt64.random(in: 1...UInt64.max)
            var random = SeededGenerator(seed: seed)
            let zones = [try await engine.makeZone("A"), try await engine.makeZone("B", owner: OwnerID(rawValue: 1))]
            var model: [ZoneKey: [String: RecordRow]] = [:]
            for _ in 0..<150 {
                let zone = zones[Int.random(in: 0...1, using: &random)]
                let throwing = Int.random(in: 0..<5, using: &random) == 0
                let plan = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                    (
                        name: "n\(Int.random(in: 0..<25, using: &random))",
                        isDeleted: Int.random(in: 0..<4, using: &random) == 0,
                        size: Int.random(in: 0..<3000, using: &random)
                    )
                }
                let rows = try? await engine.write { transaction in
                    let rows = try plan.map { step in
                        let row = RecordRow.sample(
                            zone, step.name, sequence: try transaction.nextSequence(), isDeleted: step.isDeleted,
                            fields: String(repeating: "x", count: step.size))
                        try transaction.put(row)
                        return row
                    }
                    if throwing { throw Refusal() }
                    return rows
                }
                try expect(rows == nil, equals: throwing, "seed \(seed):")
                for row in rows ?? [] { model[zone, default: [:]][row.name] = row }
            }
            for zone in zones {
                let expected = (model[zone] ?? [:]).values.sorted { $0.sequence < $1.sequence }
                try expect(try await engine.allRecords(zone) == expected, "the store is as the model, seed \(seed)")
            }
        },
    ]
}
