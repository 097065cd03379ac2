import CloudKit
import Foundation
import Testing

/// Files of an operating system: texts, images, programs, some of them equal.
@Suite struct SystemFilesTests {
    /// Those of /usr/share that are not large, as many as there are up to `count`.
    private func files(_ count: Int) throws -> [URL] {
        let keys: [URLResourceKey] = [.isRegularFileKey, .isSymbolicLinkKey, .fileSizeKey]
        let found = FileManager.default.enumerator(
            at: URL(fileURLWithPath: "/usr/share"), includingPropertiesForKeys: keys)
        var files: [URL] = []
        while files.count < count, let file = found?.nextObject() as? URL {
            let values = try file.resourceValues(forKeys: Set(keys))
            guard values.isRegularFile == true, values.isSymbolicLink != true, (values.fileSize ?? .max) < 200_000,
                FileManager.default.isReadableFile(atPath: file.path)
            else { continue }
            files.append(file)
        }
        return files
    }

    @Test(arguments: Transport.allCases)
    func `hundreds of files are fetched by a second account, byte for byte`(transport: Transport) async throws {
        let files = try files(300)
        try #require(files.count >= 100)
        try await Cloud.with(transport) { cloud in
            let records = stride(from: 0, to: files.count, by: 3).map { start -> CKRecord in
                let some = files[start..<min(start + 3, files.count)]
                let record = note("files\(start)")
                record["files"] = some.map { CKAsset(fileURL: $0) }
                record["paths"] = some.map(\.path)
                return record
            }
            let mine = cloud.container("mei").publicCloudDatabase
            for start in stride(from: 0, to: records.count, by: 50) {
                try await mine.saveAll(records[start..<min(start + 50, records.count)])
            }
            let others = cloud.container("tom").publicCloudDatabase
            let results = try await others.records(for: records.map(\.recordID))
            #expect(results.count == records.count)
            for result in results.values {
                let record = try result.get()
                let assets = try #require(record["files"] as? [CKAsset])
                let paths = try #require(record["paths"] as? [String])
                #expect(assets.count == paths.count)
                for (asset, path) in zip(assets, paths) {
                    let isSame = FileManager.default.contentsEqual(
                        atPath: try #require(asset.fileURL).path, andPath: path)
                    #expect(isSame, "\(path)")
                }
            }
        }
    }
}
