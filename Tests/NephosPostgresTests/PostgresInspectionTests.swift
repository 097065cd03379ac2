import Foundation
import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// What `nephos serve --check` reads of a database.
@Suite(.overPostgreSQL) struct PostgresInspectionTests {
    private let options = TestCluster.options(connections: 1)

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path)
    }

    private func inspect(_ place: AssetPlace, _ options: PostgresOptions) throws -> PostgresInspection {
        try PostgresInspection(try TestCluster.address.get(), assets: place, options: options)
    }

    @Test func `a place of asset files that a server would refuse is found, and nothing is noted`() throws {
        try withFolder { folder in
            let (own, other) = (AssetPlace.directory("\(folder)/own"), AssetPlace.directory("\(folder)/other"))
            #expect(try inspect(own, options).ran == 0)
            let stores = try PostgresStores(try TestCluster.address.get(), options: options)
            defer { stores.close() }
            // Nothing says yet where the files are.
            for place in [own, other] { #expect(try inspect(place, options).ran > 0) }
            #expect(!FileManager.default.fileExists(atPath: folder))
            try stores.keepAssets(in: own)
            #expect(try inspect(own, options).clockOffset == 0)
            for place in [other, AssetPlace.objects("s3://files")] {
                let error = #expect(throws: StorageError.self) { try inspect(place, options) }
                #expect(error?.code == .constraint && error?.message.contains("another directory") == true)
            }
        }
    }

    @Test(arguments: [-90, 90] as [Int64])
    func `a clock that differs from the database's is found`(seconds: Int64) throws {
        var options = options
        options.clock = { Int64(Date().timeIntervalSince1970 * 1000) + seconds * 1000 }
        let offset = try inspect(.objects("s3://files"), options).clockOffset
        #expect(abs(offset + seconds * 1000) < 30_000)
    }
}
