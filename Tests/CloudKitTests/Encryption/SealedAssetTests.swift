import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Files of assets that the service cannot read.
@Suite struct SealedAssetTests {
    /// Below, at and above a chunk.
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 200_000, 1_048_576]

    /// What the service has in a field.
    private func stored(_ key: String, of record: CKRecord.ID, _ database: CKDatabase) async throws -> [AssetValue] {
        let answer = try await database.session.service.send(
            .lookupRecords,
            LookupRecordsRequest(records: [.init(recordName: record.recordName)], zoneID: record.zoneID.wireValue),
            ServiceCall(scope: database.databaseScope))
        guard case .record(let record)? = answer.records.first else { return [] }
        return try record.fields.decoded()[key]?.value?.assets ?? []
    }

    /// The bytes that the service has of it.
    private func bytes(_ value: AssetValue, _ database: CKDatabase, _ files: TestFiles) async throws -> Data {
        let file = files.folder.appendingPathComponent(UUID().uuidString)
        try await database.session.service.download(
            try #require(value.downloadURL), to: file, ServiceCall(scope: database.databaseScope)
        ) { _ in }
        return try Data(contentsOf: file)
    }

    @Test(arguments: Transport.allCases)
    func `files of every size arrive on another device, and the service reads none of them`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("album")
            let contents = Self.sizes.map { pattern($0, seed: UInt8(truncatingIfNeeded: $0)) }
            record["images"] = try contents.map { CKAsset(fileURL: try files.file($0)) }
            record["cover"] = CKAsset(fileURL: try files.file("the plain text of the cover"))
            try await cloud.database().save(record)

            let other = cloud.database()
            let fetched = try await other.record(for: record.recordID)
            let assets = try #require(fetched["images"] as? [CKAsset])
            #expect(try assets.map { try Data(contentsOf: try #require($0.fileURL)) } == contents)
            #expect(try fetched.text("cover") == "the plain text of the cover")
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            let found = try #require(try await other.records(matching: query).matchResults.first).1.get()
            #expect(try found.text("cover") == "the plain text of the cover")

            let cover = try #require(try await stored("cover", of: record.recordID, other).first)
            #expect(cover.size == 27 + 32)
            let sealed = try await bytes(cover, other, files)
            #expect(sealed.count == 27 + 32 && sealed.first == 1)
            #expect(sealed.range(of: Data("plain".utf8)) == nil)
            let images = try await stored("images", of: record.recordID, other)
            #expect(images.map(\.size) == Self.sizes.map { ContentSeal.sealedSize(of: Int64($0)) })
            #expect(Set(images.map(\.seal)).count == images.count && !images.contains { $0.seal == nil })
        }
    }

    @Test(arguments: [Transport.inProcess])
    func `public files, and files exempt by the app, are not sealed`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let container = cloud.container("mei")
            let open = note("open")
            open["image"] = CKAsset(fileURL: try files.file("for everybody"))
            try await container.publicCloudDatabase.save(open)
            let value = try #require(try await stored("image", of: open.recordID, container.publicCloudDatabase).first)
            #expect(value.seal == nil)
            #expect(try await bytes(value, container.publicCloudDatabase, files) == Data("for everybody".utf8))

            let service = HostileService(container)
            service.seals.value = false
            let database = service.container.privateCloudDatabase
            let record = note("for-the-web")
            record["image"] = CKAsset(fileURL: try files.file("for Web clients"))
            try await database.save(record)
            let clear = try #require(try await stored("image", of: record.recordID, database).first)
            #expect(try await bytes(clear, database, files) == Data("for Web clients".utf8))
            #expect(
                try await container.privateCloudDatabase.record(for: record.recordID).text("image") == "for Web clients"
            )
            // What is sealed opens all the same.
            let sealed = note("sealed")
            sealed["image"] = CKAsset(fileURL: try files.file("mine"))
            try await container.privateCloudDatabase.save(sealed)
            #expect(try await database.record(for: sealed.recordID).text("image") == "mine")
        }
    }

    @Test(arguments: Transport.allCases)
    func `one asset in two records, two fields and twice in a list is saved repeatedly`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let asset = CKAsset(fileURL: try files.file("one"))
            let database = cloud.database()
            let records = ["a", "b"].map { name in
                let record = note(name)
                record["image"] = asset
                record["other"] = asset
                record["list"] = [asset, asset]
                return record
            }
            for _ in 1...2 {
                let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .allKeys)
                for (_, result) in results.saveResults { _ = try result.get() }
            }
            for record in records {
                record["title"] = "changed"
                try await database.save(record)
                let fetched = try await cloud.database().record(for: record.recordID)
                #expect(try fetched.text("image") == "one")
                #expect(try fetched.text("other") == "one")
                let list = try #require(fetched["list"] as? [CKAsset])
                #expect(
                    try list.map { try String(contentsOf: try #require($0.fileURL), encoding: .utf8) } == [
                        "one", "one",
                    ])
                // A fetched asset elsewhere is uploaded, and sealed for its new place.
                let copy = note("copy-of-\(record.recordID.recordName)")
                copy["image"] = fetched["image"] as? CKAsset
                try await database.save(copy)
                #expect(try await cloud.database().record(for: copy.recordID).text("image") == "one")
            }
        }
    }

    @Test func `encrypted values and sealed files of a record have one key`() async throws {
        let files = try TestFiles()
        let cloud = try EncryptedCloud()
        let record = note("both")
        record.encryptedValues["secret"] = "s"
        record["image"] = CKAsset(fileURL: try files.file("i"))
        try await cloud.device().save(record)
        record["image"] = CKAsset(fileURL: try files.file("ii"))
        try await cloud.device().save(record)
        let fetched = try await cloud.device().record(for: record.recordID)
        #expect(fetched.encryptedValues["secret"] as? String == "s")
        #expect(try fetched.text("image") == "ii")
        let keys = try await cloud.device().session.service.send(
            .lookupKeys, LookupKeysRequest(zoneID: nil, wantsGroup: false, recordNames: ["both"]),
            ServiceCall(scope: .private))
        #expect(keys.records.first?.keys.count == 1)
    }

    /// What a hostile service makes of the wrapped key of an asset's file.
    enum Tampering: CaseIterable, Sendable {
        case flips, swapsFields, takesAnotherKey, truncates

        func change(_ seal: [UInt8], other: [UInt8]) -> [UInt8] {
            var seal = seal
            switch self {
            case .flips: seal[70] ^= 1
            case .swapsFields: seal = other
            case .takesAnotherKey: seal[1] ^= 1
            case .truncates: seal.removeLast()
            }
            return seal
        }
    }

    @Test(arguments: Tampering.allCases)
    func `a tampered wrapped key fails its record, and the other record arrives`(
        _ tampering: Tampering
    ) async throws {
        let files = try TestFiles()
        let cloud = try EncryptedCloud()
        for name in ["bad", "good"] {
            let record = note(name)
            record["image"] = CKAsset(fileURL: try files.file("image of \(name)"))
            record["other"] = CKAsset(fileURL: try files.file("other of \(name)"))
            try await cloud.device().save(record)
        }
        let service = HostileService(cloud.cloud.container(account: "mei"))
        service.changingRecords.value = { name, fields in
            guard name == "bad", let image = fields["image"]?.value?.assets.first,
                case .wrapped(let seal) = image.seal,
                case .wrapped(let other) = fields["other"]?.value?.assets.first?.seal
            else { return }
            var changed = image
            changed.seal = .wrapped(tampering.change(seal, other: other))
            fields["image"] = Field(.asset(changed))
        }
        let database = service.container.privateCloudDatabase
        let results = try await database.records(for: ["bad", "good"].map { CKRecord.ID(recordName: $0) })
        let error = results[CKRecord.ID(recordName: "bad")]?.failure as? CKError
        #expect(error?.code == .internalError)
        #expect(error?.localizedDescription.contains("'image'") == true)
        #expect(try results[CKRecord.ID(recordName: "good")]?.get().text("image") == "image of good")
    }

    @Test(arguments: [Transport.inProcess], [true, false])
    func `a flipped, truncated or extended file is assetNotAvailable, and none of it is left`(
        transport: Transport, isSealed: Bool
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let container = cloud.container("mei")
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file(pattern(100_000)))
            // Those of the public database are not sealed.
            func database(_ container: CKContainer) -> CKDatabase {
                isSealed ? container.privateCloudDatabase : container.publicCloudDatabase
            }
            try await database(container).save(record)
            let service = HostileService(container)
            let changes: [@Sendable (inout Data) -> Void] = [
                { $0[70_000] ^= 1 }, { $0.removeLast() }, { $0.append(0) }, { $0.removeLast(34_464 + 16) },
            ]
            for change in changes {
                service.changingFiles.value = { file in
                    var data = try Data(contentsOf: file)
                    change(&data)
                    try data.write(to: file)
                }
                let database = database(service.container)
                await expectFailure(.assetNotAvailable) { _ = try await database.record(for: record.recordID) }
            }
        }
    }

    /// The same where the service also says that this is the content: what is left is whether the file opens.
    @Test func `a sealed file opens whole or not at all`() throws {
        let files = try TestFiles()
        let content = pattern(3 * ContentSeal.chunkSize)
        let key = SealKey.random()
        let sealed = try seal(content, key, files)
        let chunk = ContentSeal.sealedChunkSize
        func opened(_ data: Data, _ key: SealKey) throws -> Data? {
            let target = files.folder.appendingPathComponent(UUID().uuidString)
            do {
                try SealedFile.open(ofFileAt: try files.file(data).path, with: key, to: target.path)
            } catch is SealedFile.DoesNotOpen {
                #expect(!FileManager.default.fileExists(atPath: target.path))
                return nil
            }
            return try Data(contentsOf: target)
        }
        #expect(try opened(sealed, key) == content)
        #expect(try opened(sealed, .random()) == nil)
        for cut in [0, 1, 15, 16, 31, 32, 16 + chunk, 16 + 2 * chunk, sealed.count - 1] {
            #expect(try opened(sealed.prefix(cut), key) == nil, "\(cut) bytes")
        }
        #expect(try opened(sealed + Data([0]), key) == nil)
        #expect(try opened(sealed + sealed.suffix(chunk), key) == nil, "its last chunk twice")
        let (one, two) = (sealed[16..<(16 + chunk)], sealed[(16 + chunk)..<(16 + 2 * chunk)])
        #expect(try opened(sealed.prefix(16) + two + one + sealed.suffix(chunk), key) == nil, "another order")
        #expect(try opened(sealed.prefix(16) + one + sealed.suffix(chunk), key) == nil, "a chunk is missing")
        for seed in 0..<40 {
            var changed = sealed
            changed[(seed * 7919) % sealed.count] ^= UInt8(1 << (seed % 8))
            #expect(try opened(changed, key) == nil, "byte \((seed * 7919) % sealed.count)")
        }
    }

    private func seal(_ content: Data, _ key: SealKey, _ files: TestFiles) throws -> Data {
        let seal = ContentSeal(key)
        var sealed = Data(seal.header)
        let count = ContentSeal.chunkCount(of: Int64(content.count))
        for index in 0..<count {
            let start = Int(index) * ContentSeal.chunkSize
            let part = Array(content[start..<min(content.count, start + ContentSeal.chunkSize)])
            var output = [UInt8](repeating: 0, count: part.count + ContentSeal.tagSize)
            part.withUnsafeBytes { part in
                output.withUnsafeMutableBytes { seal.seal(part, index: index, isLast: index == count - 1, into: $0) }
            }
            sealed += output
        }
        return sealed
    }

    @Test func `a file that is truncated while it is sealed is assetFileModified`() async throws {
        let files = try TestFiles()
        let file = try files.file(pattern(3 << 20))
        let content = AssetContent(file: file, size: 3 << 20, key: .random())
        #expect(content.size == ContentSeal.sealedSize(of: 3 << 20))
        let pieces = try #require(content.sealed)
        #expect(try await pieces.next()?.count == 16 + 16 * ContentSeal.sealedChunkSize)
        try pattern(1 << 20).write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 0)
        await #expect(throws: AssetFileFailure.modified(file.path)) {
            let empty = AssetContent(file: file, size: 3 << 20, key: .random())
            _ = try await empty.sealed?.next()
        }
    }
}
