import Dispatch
import NephosStorage

extension StorageConformance {
    static let isolation: [StorageCheck] = [
        StorageCheck("A read does not see a write that goes on, and the next one sees it whole") { store in
            guard store.readsDuringWrites else { return }
            try await store.run { engine in
                let zone = try await engine.makeZone()
                let (isWritten, signal) = AsyncStream<Void>.makeStream()
                let mayCommit = DispatchSemaphore(value: 0)
                async let written: Void = engine.write { transaction in
                    try transaction.put(.sample(zone, "a", sequence: 10))
                    try transaction.put(.sample(zone, "b", sequence: 11))
                    signal.yield()
                    mayCommit.wait()
                }
                for await _ in isWritten { break }
                let during = try await engine.allRecords(zone)
                mayCommit.signal()
                try await written
                try expect(during, equals: [])
                try expect(try await engine.allRecords(zone).count, equals: 2)
            }
        },
        StorageCheck("A read sees one snapshot, whatever is committed while it goes on") { store in
            guard store.readsDuringWrites else { return }
            try await store.run { engine in
                let zone = try await engine.makeZone()
                try await engine.save(zone, "a", fields: "old")
                let (hasRead, signal) = AsyncStream<Void>.makeStream()
                let isCommitted = DispatchSemaphore(value: 0)
                async let pair = engine.read { reader in
                    let first = try reader.records(zone: zone, after: 0, limit: 10)
                    signal.yield()
                    isCommitted.wait()
                    return (first, try reader.records(zone: zone, after: 0, limit: 10))
                }
                for await _ in hasRead { break }
                try await engine.save(zone, "a", fields: "new")
                try await engine.save(zone, "b")
                isCommitted.signal()
                let (first, second) = try await pair
                try expect(first.map(\.fields), equals: [Array("old".utf8)])
                try expect(second, equals: first)
                try expect(try await engine.record(zone, "a")?.fields, equals: Array("new".utf8))
            }
        },
        .engine("Readers never see half of a write") { engine in
            let zone = try await engine.makeZone()
            @Sendable func write(_ value: Int) async throws {
                try await engine.write { transaction in
                    for name in ["left", "right"] {
                        let sequence = try transaction.nextSequence()
                        try transaction.put(.sample(zone, name, sequence: sequence, fields: "\(value)"))
                    }
                }
            }
            try await write(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for value in 1...100 { try await write(value) } }
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<100 {
                            let (left, right) = try await engine.read {
                                (try $0.record(zone: zone, named: "left"), try $0.record(zone: zone, named: "right"))
                            }
                            try expect(left?.fields, equals: right?.fields)
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
        .engine("A read that starts after a write was answered sees it") { engine in
            let zone = try await engine.makeZone()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for index in 0..<25 {
                            let sequence = try await engine.save(zone, "r\(task)", fields: "\(index)")
                            let row = try await engine.record(zone, "r\(task)")
                            try expect(row?.sequence, equals: sequence)
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
    ]
}
