package import NephosStorage

/// Alternates between three stores of one provider after each way in which a transaction can end. The stores have the
/// same account numbers, zones and record names. So without this check, a transaction that reaches the tables of
/// another store would fail silently.
package struct StoreAlternation: Sendable {
    /// A way in which a transaction can end.
    package struct Ending: Sendable, CustomStringConvertible {
        package let description: String
        /// Begins and ends transactions on a store. Errors that it throws are ignored.
        package let run: @Sendable (Store) async throws -> Void

        package init(_ description: String, _ run: @escaping @Sendable (Store) async throws -> Void) {
            self.description = description
            self.run = run
        }
    }

    /// One of the three stores.
    package struct Store: Sendable {
        package let id: StoreID
        package let engine: any StorageEngine
        package let zone: ZoneKey
        /// The name of the store's account, which is also the value in the store's records.
        package var name: String { StoreAlternation.name(of: id) }
    }

    private let stores: [Store]

    /// Opens three stores, each with an account, a zone and a record. The record's fields contain the name of the
    /// store.
    package init(_ provider: any StoreProvider) async throws {
        var stores: [Store] = []
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        for index in 0..<3 {
            // The stores belong to two containers, and to a second environment of the first container.
            let id = StoreID(
                container: "iCloud.\(name).\(index % 2)", environment: index < 2 ? "development" : "production")
            let engine = try provider.open(id)
            let zone = try await engine.write { transaction in
                let account = try transaction.insertAccount(name: Self.name(of: id), userRecordName: "_user")
                return try transaction.insertZone(
                    owner: OwnerID(rawValue: account.id), name: "Z", sequence: transaction.nextSequence()
                ).key
            }
            stores.append(Store(id: id, engine: engine, zone: zone))
        }
        self.stores = stores
    }

    package func close() async {
        for store in stores { await store.engine.close() }
    }

    /// Ends a transaction on each store in each way, then reads and writes each other store, twice.
    /// - Throws: `CheckFailure` if a store has, or returns, the rows of another store.
    package func check(_ endings: [Ending]) async throws {
        var saved = 0
        for ending in endings {
            for index in stores.indices {
                for step in [1, 2] {
                    do { try await ending.run(stores[index]) } catch {}
                    for offset in 0..<stores.count {
                        let store = stores[(index + step * (offset + 1)) % stores.count]
                        saved += 1
                        try await Self.check(store, "r\(saved)", after: "\(ending) on \(stores[index].id)")
                    }
                }
            }
        }
    }

    /// Reads a store, writes to it, and reads the written rows.
    private static func check(_ store: Store, _ name: String, after ending: String) async throws {
        let mark = Array(store.name.utf8)
        let accounts = try await store.engine.read { try $0.accounts(after: 0, limit: 10).map(\.name) }
        try expect(accounts, equals: [store.name], "after \(ending), accounts of \(store.id):")
        try await store.engine.write { transaction in
            // The first name exists in the other stores too.
            for name in ["same", name] {
                try transaction.put(
                    .sample(store.zone, name, sequence: transaction.nextSequence(), fields: store.name))
            }
        }
        let rows = try await store.engine.read { reader in
            let all = try reader.records(zone: store.zone, after: 0, limit: .max)
            return all + [try reader.record(zone: store.zone, named: name)].compactMap { $0 }
        }
        try expect(
            rows.allSatisfy { $0.fields == mark }, "after \(ending), \(store.id) has its own records")
        try expect(rows.last?.name, equals: name, "after \(ending), the record saved in \(store.id):")
        let looked = try await store.engine.read(expecting: .lookup) { reader in
            reader.expectZone(named: "Z", records: ["same"], shares: 0)
            guard let zone = try reader.zone(owner: store.zone.owner, named: "Z") else { return nil as [UInt8]? }
            return try reader.record(zone: zone.key, named: "same")?.fields
        }
        try expect(looked, equals: mark, "after \(ending), a lookup in \(store.id):")
    }

    private static func name(of id: StoreID) -> String { "\(id.container)/\(id.environment)" }
}

extension StoreAlternation {
    /// The ways of ending a transaction that every engine has.
    package static let endings: [Ending] = [
        Ending("a committed read") { _ = try await $0.engine.read { try $0.recordTypes() } },
        Ending("a committed write") { try await save("same", in: $0) },
        Ending("a write of what takes the whole store") { store in
            try await store.engine.write { try $0.insertRecordType("Type\(UInt32.random(in: .min ... .max))") }
        },
        Ending("a read that throws") { store in
            try await store.engine.read { reader in
                _ = try reader.recordTypes()
                throw Refusal()
            }
        },
        Ending("a read that throws before its first statement") { try await $0.engine.read { _ in throw Refusal() } },
        Ending("a write that throws") { store in
            try await store.engine.write { transaction in
                try transaction.put(.sample(store.zone, "thrown", sequence: transaction.nextSequence()))
                _ = try transaction.records(zone: store.zone, after: 0, limit: 1)
                throw Refusal()
            }
        },
        Ending("a write whose body ignores a failure") { store in
            try await store.engine.write { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.put(.sample(store.zone, "first", sequence: sequence))
                _ = try? transaction.put(.sample(store.zone, "second", sequence: sequence))
                _ = try? transaction.records(zone: store.zone, after: 0, limit: 1)
            }
        },
        Ending("a read whose body ignores a failure") { store in
            _ = try await store.engine.read { try? $0.zone(owner: store.zone.owner, named: "a\0b") }
        },
        Ending("a cancelled read and write") { store in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try? await store.engine.read { try $0.recordTypes() }
                try await save("same", in: store)
            }
            _ = await task.result
        },
    ]

    private static func save(_ name: String, in store: Store) async throws {
        try await store.engine.write { transaction in
            _ = try transaction.put(
                .sample(store.zone, name, sequence: transaction.nextSequence(), fields: store.name))
        }
    }
}
