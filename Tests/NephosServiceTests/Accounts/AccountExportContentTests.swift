import Foundation
import NephosCrypto
import NephosSQLite
import NephosStorage
import NephosThreads
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// What an account's export has besides plain values: files, what is encrypted, and what is damaged.
@Suite struct AccountExportContentTests {
    private static let secret = FieldValue.sealed(.string)
    private static let seal = AssetSeal.wrapped([1] + [UInt8](repeating: 7, count: Limits.wrappedAssetKeySize - 1))

    private func upload(_ content: [UInt8], _ record: String, _ database: TestDatabase) async throws -> AssetValue {
        let answer = try await database.cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: record, recordType: "Note", fieldName: "file")]),
            database.context)
        let token = try answer.firstToken()
        let upload = try await database.cloud.service.beginUpload(
            token, size: nil, container: "iCloud.test", .development, requestID: "R")
        if !content.isEmpty { try await upload.append(content) }
        return try await upload.finish().singleFile
    }

    private func save(_ operations: RecordOperation..., in database: TestDatabase) async throws {
        for operation in operations {
            #expect(try await database.modify([operation]).map(\.summary) == ["saved"])
        }
    }

    /// The files of an export by their paths below the store's directory.
    private func files(_ cloud: TestCloud, _ account: String = "me") async throws -> [(name: String, bytes: [UInt8])] {
        let export = try await cloud.service.export(of: account) { true }
        var files: [(name: String, bytes: [UInt8])] = []
        while let piece = try await export.next() {
            let name = try #require(piece.path.firstMatch(of: /^iCloud\.test\/development\/(.+)$/), "\(piece.path)").1
            if piece.offset == 0 { files.append((String(name), [])) }
            files[files.count - 1].bytes += piece.bytes
            #expect(files[files.count - 1].bytes.count <= piece.size)
        }
        return files
    }

    /// The lines of a kind.
    private func lines(_ kind: String, _ files: [(name: String, bytes: [UInt8])]) -> [String] {
        files.filter { $0.name.hasPrefix("\(kind)-") }.flatMap {
            String(decoding: $0.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    @Test func `an export has each file once, before the lines that name it, and nothing of another account`()
        async throws
    {
        let cloud = TestCloud()
        let content = [UInt8](repeating: 0xE9, count: 1_300_000)
        for account in ["me", "tom"] {
            let database = TestDatabase(cloud, account)
            for (record, content) in [("a", content), ("b", content), ("c", []), ("d", Array(account.utf8))] {
                let value = try await upload(content, record, database)
                try await save(.create(record, ["file": .asset(value)]), in: database)
            }
        }
        let files = try await files(cloud, "tom")
        let stored = files.filter { $0.name.hasPrefix("files/") }
        #expect(Set(stored.map(\.bytes)) == [content, [], Array("tom".utf8)] && stored.count == 3)
        let records = lines("records", files).filter { $0.contains("nephosContent") }
        #expect(records.count == 4)
        for (index, file) in files.enumerated() where file.name.hasPrefix("records-") {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for match in text.matches(of: /"nephosContent":"([0-9a-f]+)"/) {
                #expect(files[..<index].contains { $0.name == "files/\(match.1)" })
            }
        }
        #expect(lines("damaged", files).isEmpty && lines("encrypted", files).isEmpty)
    }

    @Test func `encrypted values and sealed files are exported as stored, apart from the lines that are imported`()
        async throws
    {
        let cloud = TestCloud()
        let me = TestDatabase(cloud)
        try await me.makeZoneKey()
        var sealed = try await upload([UInt8](repeating: 5, count: 40), "sealed", me)
        sealed.seal = Self.seal
        var secret = RecordOperation.create("secret", ["text": .string("plain")])
        secret.record.fields["secret"] = Field(Self.secret, isEncrypted: true)
        try await save(
            secret.withKey(), RecordOperation.create("sealed", ["file": .asset(sealed)]).withKey(),
            .create("clear", ["text": .string("x")]), in: me)
        let files = try await files(cloud)
        let encrypted = lines("encrypted", files)
        #expect(encrypted.count == 2)
        for (name, field) in [("secret", "secret"), ("sealed", "file")] {
            let line = try #require(encrypted.first { $0.contains("\"recordName\":\"\(name)\"") })
            let stored = try #require(try await me.lookup(name)[0].record?.fields.decoded()[field])
            let fields = try #require(line.firstMatch(of: /"fields":(.+)}$/)).1
            let exported = try EncodedFields(bytes: Array(fields.utf8)).decoded()
            #expect(exported.entries.map(\.name) == [field])
            #expect(exported[field]?.isEncrypted == stored.isEncrypted)
            if name == "secret" { #expect(exported[field]?.value == Self.secret) }
            #expect(exported[field]?.value?.assets.map(\.seal) == stored.value?.assets.map(\.seal))
        }
        #expect(files.first { $0.name.hasPrefix("files/") }?.bytes == [UInt8](repeating: 5, count: 40))
        let records = lines("records", files).joined(separator: "\n")
        #expect(records.contains("\"plain\"") && !records.contains("nephosSeal"))
        #expect(records.contains(#""nephosKeep":["secret"]"#) && records.contains(#""nephosKeep":["file"]"#))
    }

    @Test(arguments: [nil, "short", "CONTENT"])
    func `a file that is lost or damaged is named, and the others are exported`(instead: String?) async throws {
        let cloud = TestCloud()
        let me = TestDatabase(cloud)
        for (record, content) in [("bad", "content"), ("good", "another")] {
            let value = try await upload(Array(content.utf8), record, me)
            try await save(.create(record, ["file": .asset(value), "text": .string(record)]), in: me)
        }
        let files = try #require(cloud.service.openStores.first).assets.files
        try await cloud.withStore { store in
            let row = try await store.engine.read { try $0.assets(afterFile: "", limit: 9) }
            let lost = try #require(row.first { $0.size == 7 && $0.hash == Self.hash(of: "content") })
            try await BlockingPool.disk.run {
                try files.remove(lost.file)
                guard let instead else { return }
                let file = try files.makeFile()
                try Array(instead.utf8).withUnsafeBytes { try file.write($0) }
                try file.publish(as: lost.file)
                try file.settle()
            }
        }
        let exported = try await self.files(cloud)
        let damaged = lines("damaged", exported)
        #expect(damaged.count == 1)
        #expect(damaged.first?.contains(#""recordName":"bad","fieldName":"file""#) == true, "\(damaged)")
        let records = lines("records", exported)
        let bad = try #require(records.first { $0.contains("\"bad\"") })
        #expect(!bad.contains("nephosContent") && bad.contains(#""nephosKeep":["file"]"#))
        let good = try #require(records.first { $0.contains("\"good\"") })
        #expect(good.contains("nephosContent"))
        #expect(exported.contains { $0.bytes == Array("another".utf8) })
    }

    private static func hash(of content: String) -> [UInt8] {
        let hash = StreamingHash(.content)
        hash.update(Array(content.utf8))
        return hash.finish()
    }

    @Test func `a damaged record is named, and the others are exported`() async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        let before = TestCloud(ServiceConfiguration(), stores: try stores.open())
        let database = try await TestDatabase(before).making(zone: "Z")
        for name in ["first", "middle", "last"] {
            try await save(.create(name, ["text": .string("needle-\(name)")]), in: database)
        }
        await before.service.close()
        try stores.edit("iCloud.test") { data in
            while let place = data.range(of: Data("needle-middle".utf8)) { data[place.lowerBound] = 0x22 }
        }
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        let exported = try await files(cloud)
        let damaged = lines("damaged", exported)
        #expect(damaged.count == 1)
        #expect(
            damaged.first?.contains(#"{"zoneName":"Z","recordName":"middle","reason":"The record is damaged"#) == true)
        let records = lines("records", exported)
        #expect(records.count { $0.contains("needle-") } == 2)
        await cloud.service.close()
    }

    @Test func `a database that cannot be opened is named, and the others are exported`() async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        let before = TestCloud(ServiceConfiguration(), stores: try stores.open())
        for container in ["iCloud.a", "iCloud.b", "iCloud.c"] {
            _ = try await before.service.modifyRecords(
                ModifyRecordsRequest(operations: [.create("note", ["text": .string(container)])]),
                before.context(container: container))
        }
        await before.service.close()
        try stores.edit("iCloud.b") { $0.replaceSubrange(0..<16, with: Data(repeating: 0x21, count: 16)) }
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        let export = try await cloud.service.export(of: "me") { true }
        var text: [String: String] = [:]
        while let piece = try await export.next() {
            let container = String(piece.path.prefix { $0 != "/" })
            text[container, default: ""] += "\(piece.path)\n" + String(decoding: piece.bytes, as: UTF8.self)
        }
        #expect(text["iCloud.a"]?.contains(#""value":"iCloud.a""#) == true)
        #expect(text["iCloud.b"]?.contains("/damaged-") == true)
        #expect(text["iCloud.c"]?.contains(#""value":"iCloud.c""#) == true)
        await cloud.service.close()
    }

    @Test(arguments: [RemoteStores.Failure.open, .read])
    fileprivate func `an export ends where remote storage fails, and the next one is whole`(
        failure: RemoteStores.Failure
    ) async throws {
        let stores = RemoteStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let me = TestDatabase(cloud)
        let content = [UInt8](repeating: 7, count: 1_300_000)
        try await save(.create("a", ["file": .asset(try await upload(content, "a", me))]), in: me)
        stores.failure.withLock { $0 = failure }
        await #expect(throws: ServiceError.self) { try await files(cloud) }
        stores.failure.withLock { $0 = nil }
        let exported = try await files(cloud)
        #expect(exported.contains { $0.bytes == content } && lines("damaged", exported).isEmpty)
    }

    @Test func `an export is cut off after six hours, and the account may begin another`() async throws {
        let cloud = TestCloud()
        try await save(.create("a"), in: TestDatabase(cloud))
        var export: AccountExport? = try await cloud.service.export(of: "me") { true }
        #expect(try await export?.next() != nil)
        cloud.advance(milliseconds: Limits.exportDuration - 1)
        #expect(try await export?.next() != nil)
        cloud.advance(milliseconds: 1)
        let error = await #expect(throws: ServiceError.self) { try await export?.next() }
        #expect(error?.reason == "the export took longer than 6 hours")
        export = nil
        let again = try await cloud.service.export(of: "me") { true }
        #expect(try await again.next() != nil)
    }
}

/// Stores in memory whose files count as those of another machine, which fails as the test says.
private final class RemoteStores: StoreProvider {
    enum Failure: Sendable {
        /// No file opens.
        case open
        /// A file is read to its middle alone.
        case read
    }

    let failure = Mutex<Failure?>(nil)
    private let stores = MemoryStores()

    func open(_ id: StoreID) throws -> any StorageEngine { try stores.open(id) }
    func assets(of id: StoreID) throws -> any AssetStore { Files(try stores.assets(of: id), self) }
    func existingStores() -> [StoreID] { stores.existingStores() }
    func exists(_ id: StoreID) throws -> Bool { try stores.exists(id) }
    func close() { stores.close() }

    func fail(_ place: Failure) throws {
        if failure.withLock({ $0 == place }) { throw StorageError(.inputOutput, "the other machine does not answer") }
    }

    private final class Files: AssetStore {
        private let files: any AssetStore
        private let stores: RemoteStores

        init(_ files: any AssetStore, _ stores: RemoteStores) { (self.files, self.stores) = (files, stores) }

        var threads: BlockingPool { .network }
        func makeFile() throws -> any AssetFileWriter { try files.makeFile() }
        func open(_ name: String) throws -> (any AssetFileReader)? {
            try stores.fail(.open)
            return try files.open(name).map { Reader($0, stores) }
        }
        func remove(_ name: String) throws { try files.remove(name) }
        func files(after name: String, limit: Int) throws -> [String] { try files.files(after: name, limit: limit) }
        func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover] { try files.leftovers(olderThan: seconds) }
        func freeBytes() throws -> Int64? { try files.freeBytes() }
        func holdFiles() throws -> RemovalLock? { try files.holdFiles() }
        func lockForRemoval() throws -> RemovalLock? { try files.lockForRemoval() }
        func close() { files.close() }
    }

    private final class Reader: AssetFileReader {
        private let file: any AssetFileReader
        private let stores: RemoteStores

        init(_ file: any AssetFileReader, _ stores: RemoteStores) { (self.file, self.stores) = (file, stores) }

        var size: Int64 { file.size }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
            if offset >= size / 2 { try stores.fail(.read) }
            return try file.read(into: buffer, at: offset)
        }
        func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? { nil }
    }
}
