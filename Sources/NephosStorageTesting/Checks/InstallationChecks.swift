import NephosStorage

extension StorageConformance {
    static let installation: [StorageCheck] = [
        .engine("Entries of the installation are found by kind and name, and expire") { engine in
            let entries = [
                InstallationEntry(kind: .account, name: "a", body: [1, 0]),
                InstallationEntry(kind: .session, name: "a", body: [2], expiresAt: 5),
                InstallationEntry(kind: .session, name: "b", body: [], expiresAt: 7),
                InstallationEntry(kind: .session, name: "é", body: [3]),
            ]
            try await engine.write(of: [.everyone]) { transaction in
                for entry in entries { try transaction.put(entry) }
            }
            try await engine.read { reader in
                try expect(try reader.installationEntry(.account, "a"), equals: entries[0])
                try expect(try reader.installationEntry(.account, "b"), equals: nil)
                try expect(
                    try reader.installationEntries(.session, after: "", limit: 9), equals: Array(entries.dropFirst()))
                try expect(try reader.installationEntries(.session, after: "a", limit: 1), equals: [entries[2]])
                try expect(try reader.installationEntries(.session, after: "é", limit: 9), equals: [])
            }
            func purge(_ time: Int64, _ limit: Int) async throws -> Int {
                try await engine.write(of: [.everyone]) {
                    try $0.purgeInstallationEntries(expiredBy: time, limit: limit)
                }
            }
            try expect(try await purge(4, 9), equals: 0)
            try expect(try await purge(9, 1), equals: 1)
            try expect(
                try await engine.read { try $0.installationEntries(.session, after: "", limit: 9).map(\.name) },
                equals: ["b", "é"])
            try expect(try await purge(9, 9), equals: 1)
            let removed = try await engine.write(of: [.everyone]) { transaction in
                var changed = entries[3]
                changed.body = [9]
                try transaction.put(changed)
                try expect(try transaction.installationEntry(.session, "é"), equals: changed)
                return [
                    try transaction.removeInstallationEntry(.session, "é"),
                    try transaction.removeInstallationEntry(.session, "é"),
                ]
            }
            try expect(removed, equals: [true, false])
        }
    ]
}
