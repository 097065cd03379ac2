import Foundation
import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Servers over one database share one asset directory.
@Suite(.overPostgreSQL) struct AssetPlaceTests {
    private let options = TestCluster.options(connections: 1)

    private func server() throws -> PostgresStores {
        try PostgresStores(try TestCluster.address.get(), options: options)
    }

    /// The refusal of a server that would use an asset directory.
    private func refusal(_ place: AssetPlace) throws -> String {
        let stores = try server()
        defer { stores.close() }
        let error = #expect(throws: StorageError.self) { try stores.keepAssets(in: place) }
        #expect(error?.code == .constraint)
        return try #require(error?.message)
    }

    private func keep(_ place: AssetPlace) throws {
        let stores = try server()
        defer { stores.close() }
        try stores.keepAssets(in: place)
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test func `a server with another asset directory is refused, and leaves nothing in it`() throws {
        try withFolder { folder in
            let (shared, own) = (folder.appendingPathComponent("shared"), folder.appendingPathComponent("own"))
            try keep(.directory(shared.path))
            let message = try refusal(.directory(own.path))
            let identifier = try String(contentsOf: shared.appendingPathComponent("assets.id"), encoding: .utf8)
            #expect(message.contains("are not in the directory \(own.path), but in another directory"))
            #expect(message.contains("says \(identifier.dropLast())."))
            #expect(!FileManager.default.fileExists(atPath: own.path))
            #expect(try refusal(.objects("s3://files/app")).contains("not in s3://files/app, but in another directory"))
            try keep(.directory(shared.path))
        }
    }

    @Test func `a directory is recognised at any path, and another database's is not`() throws {
        try withFolder { folder in
            let (before, after) = (folder.appendingPathComponent("before"), folder.appendingPathComponent("after"))
            try keep(.directory(before.path))
            try FileManager.default.moveItem(at: before, to: after)
            try keep(.directory(after.path))
            let stores = try PostgresStores(
                try TestCluster.address.get(), options: TestCluster.options(connections: 1))
            defer { stores.close() }
            try stores.keepAssets(in: .directory(before.path))
            _ = try refusal(.directory(before.path))
            // Two databases may use one.
            let third = try PostgresStores(
                try TestCluster.address.get(), options: TestCluster.options(connections: 1))
            defer { third.close() }
            try third.keepAssets(in: .directory(after.path))
        }
    }

    @Test func `object storage is identified by its bucket and prefix`() throws {
        try keep(.objects("s3://files/app"))
        try keep(.objects("s3://files/app"))
        #expect(try refusal(.objects("s3://files/other")).contains("but in s3://files/app. All"))
        try withFolder { folder in
            let message = try refusal(.directory(folder.path))
            #expect(message.contains("but in s3://files/app. All"))
            #expect(!FileManager.default.fileExists(atPath: folder.path))
        }
    }

    @Test func `a place is forgotten while no store exists`() throws {
        try keep(.objects("s3://files/app"))
        let stores = try server()
        defer { stores.close() }
        try stores.forgetUnusedAssetPlace()
        try keep(.objects("s3://files/other"))
        _ = try stores.open(TestCluster.newStore())
        try stores.forgetUnusedAssetPlace()
        #expect(try refusal(.objects("s3://files/app")).contains("but in s3://files/other. All"))
    }

    @Test func `a check of the asset directory records nothing`() throws {
        try withFolder { folder in
            let stores = try server()
            defer { stores.close() }
            #expect(try !stores.checkAssets(in: .directory(folder.path)))
            #expect(!FileManager.default.fileExists(atPath: folder.path))
            try keep(.directory(folder.path))
            #expect(try stores.checkAssets(in: .directory(folder.path)))
            #expect(throws: StorageError.self) { try stores.checkAssets(in: .objects("s3://files")) }
        }
    }

    @Test func `of servers that start at once with different directories one succeeds`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let servers = try (0..<4).map { _ in try server() }
        let kept = await withTaskGroup(of: Bool.self) { group in
            for (number, stores) in servers.enumerated() {
                group.addTask {
                    (try? stores.keepAssets(in: .directory(folder.appendingPathComponent("\(number)").path))) != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(kept == 1)
        for stores in servers { stores.close() }
    }
}
