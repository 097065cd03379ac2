import NephosStorage

extension StorageConformance {
    static let lifecycle: [StorageCheck] = [
        StorageCheck("What was answered is there when the store is opened again") { store in
            guard store.keepsData else { return }
            let (zone, rows) = try await store.run { engine in
                let zone = try await engine.makeZone("Z", owner: OwnerID(rawValue: 1))
                for index in 0..<50 { try await engine.save(zone, "r\(index % 30)", fields: "\(index)") }
                try await engine.write { transaction in
                    _ = try transaction.insertAccount(name: "anna", userRecordName: "_a")
                    try transaction.insert(ReferenceRow(zone: zone, target: "r1", kind: .parent, source: "r2"))
                    try transaction.insertRecordType("T")
                    try transaction.put(SchemaFieldRow(recordType: "T", field: "f", type: "STRING"))
                }
                return (zone, try await engine.allRecords(zone))
            }
            try await store.run { engine in
                try expect(try await engine.allRecords(zone), equals: rows)
                try await engine.read { reader in
                    try expect(try reader.zone(owner: OwnerID(rawValue: 1), named: "Z")?.key, equals: zone)
                    try expect(try reader.account(named: "anna")?.userRecordName, equals: "_a")
                    try expect(try reader.references(zone: zone, from: "r2").map(\.target), equals: ["r1"])
                    try expect(try reader.recordTypes(), equals: ["T"])
                    try expect(try reader.schemaFields().map(\.field), equals: ["f"])
                }
            }
        },
        StorageCheck("Closing finishes the writes that were handed in") { store in
            guard store.keepsData else { return }
            let engine = try store.open()
            let zone = try await engine.makeZone()
            let tasks = (0..<50).map { index in
                Task {
                    do {
                        try await engine.save(zone, "r\(index)")
                        return true
                    } catch let error as StorageError where error.code == .closed {
                        return false
                    }
                }
            }
            _ = try await tasks[0].value
            await engine.close()
            var answered: Set<String> = []
            for (index, task) in tasks.enumerated() where try await task.value { answered.insert("r\(index)") }
            let names = Set(try await store.run { try await $0.allRecords(zone) }.map(\.name))
            try expect(names, equals: answered, "the store has what was answered, and nothing that was refused:")
        },
        StorageCheck("A closed engine refuses reads and writes, and may be closed again") { store in
            let engine = try store.open()
            await engine.close()
            try await expect(.closed, "a write") { try await engine.write { _ in } }
            try await expect(.closed, "a read") { try await engine.read { _ in } }
            await engine.close()
        },
        StorageCheck("An engine that is closed by several tasks at once is closed for all of them") { store in
            let engine = try store.open()
            _ = try await engine.makeZone()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { await engine.close() } }
            }
            try await expect(.closed, "a read") { try await engine.read { _ in } }
        },
        StorageCheck("An engine that nobody closes is closed when nobody has it any more") { store in
            guard store.keepsData else { return }
            for round in 0..<3 {
                let engine = try store.open()
                _ = try await engine.makeZone("Z\(round)")
                _ = try await engine.read { try $0.zones(owner: .everyone) }
            }
        },
        StorageCheck("A damaged store is refused as damaged") { store in
            guard let damage = store.damage else { return }
            try await store.run { engine in
                let zone = try await engine.makeZone()
                for index in 0..<20 { try await engine.save(zone, "r\(index)") }
            }
            try damage()
            try await expect(.damaged, "opening it") {
                let engine = try store.open()
                await engine.close()
            }
        },
    ]
}
