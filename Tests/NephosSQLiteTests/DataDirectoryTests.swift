import Foundation
import NephosStorage
import Testing

@testable import NephosSQLite

@Suite struct DataDirectoryTests {
    private let temporary: TemporaryDirectory
    private let path: String
    private let store = StoreID(container: "iCloud.org.example.App", environment: "development")

    init() throws {
        temporary = try TemporaryDirectory()
        path = temporary.file("deep/data")
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a store is the file of its container and environment, private to its owner`() async throws {
        let directory = try DataDirectory(path: path)
        let engine = try directory.open(store)
        _ = try await engine.fill(1)
        #expect(FileManager.default.fileExists(atPath: "\(path)/iCloud.org.example.App/development.sqlite"))
        #expect(try mode("\(path)/iCloud.org.example.App/development.sqlite") == 0o600)
        for directory in [temporary.file("deep"), path, "\(path)/iCloud.org.example.App"] {
            #expect(try mode(directory) == 0o700, "\(directory)")
        }
        await engine.close()
        directory.close()
    }

    @Test func `a deleted row leaves nothing in the file after a rewrite, and the others stay`() async throws {
        let directory = try DataDirectory(path: path)
        let zone = ZoneKey(owner: .everyone, id: 0)
        let engine = try directory.open(store)
        try await engine.write { transaction in
            for id in ["deleted secret", "kept secret"] {
                try transaction.put(KeyRow(zone: zone, kind: .escrow, subject: id, id: [], body: Array(id.utf8)))
            }
        }
        await engine.close()
        let file = try directory.file(for: store)
        // Some builds of SQLite overwrite what is deleted by themselves.
        let connection = try Connection(path: file, access: .writing)
        try connection.execute("PRAGMA secure_delete = OFF; DELETE FROM wrapped_key WHERE subject = 'deleted secret'")
        connection.close()
        func has(_ text: String) throws -> Bool {
            try Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data(text.utf8)) != nil
        }
        #expect(try has("deleted secret"))
        try directory.eraseDeletedRows()
        #expect(try !has("deleted secret") && has("kept secret"))
        #expect(!FileManager.default.fileExists(atPath: "\(file)-wal"))
        let again = try directory.open(store)
        #expect(try await again.read { try $0.keys(zone: zone, kind: .escrow).map(\.subject) } == ["kept secret"])
        await again.close()
        directory.close()
    }

    @Test func `stores are separate, are listed, and exist after the directory is reopened`() async throws {
        let ids = [
            StoreID(container: "B", environment: "production"), StoreID(container: "A", environment: "production"),
            StoreID(container: "A", environment: "development"),
        ]
        let directory = try DataDirectory(path: path)
        #expect(try directory.existingStores() == [])
        for (index, id) in ids.enumerated() {
            let engine = try directory.open(id)
            _ = try await engine.fill(index + 1)
            await engine.close()
        }
        directory.close()

        let again = try DataDirectory(path: path)
        #expect(try again.existingStores() == [ids[2], ids[1], ids[0]])
        for (index, id) in ids.enumerated() {
            let engine = try again.open(id)
            let count = try await engine.read { reader in
                let zones = try reader.zones(owner: .everyone)
                return try zones.reduce(0) { try $0 + reader.records(zone: $1.key, after: 0, limit: 10).count }
            }
            #expect(count == index + 1)
            await engine.close()
        }
        again.close()
    }

    @Test func `other files in the directory are not listed`() throws {
        let directory = try DataDirectory(path: path)
        let files = FileManager.default
        try files.createDirectory(atPath: "\(path)/empty", withIntermediateDirectories: true)
        try makeFile("\(path)/notes.sqlite")
        try files.createDirectory(atPath: "\(path)/assets/with space", withIntermediateDirectories: true)
        try makeFile("\(path)/empty/production.sqlite-wal")
        try makeFile("\(path)/empty/some thing.sqlite")
        #expect(try directory.existingStores() == [])
        directory.close()
    }

    @Test(
        arguments: [
            "", ".", "..", "../x", "a/b", "/etc", "a\0b", ".hidden", "a b", "ä", "a\n", "~", "a\\b", "%2e%2e", "a:b",
            String(repeating: "a", count: 201),
        ])
    func `a name that would escape the directory is refused`(name: String) async throws {
        let directory = try DataDirectory(path: path)
        for id in [
            StoreID(container: name, environment: "development"), StoreID(container: "A", environment: name),
        ] {
            let error = try #require(try await storageError { _ = try directory.open(id) })
            #expect(error.code == .constraint)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [".lock"])
        directory.close()
    }

    @Test func `a second opening of the directory is refused until the first is closed`() async throws {
        let first = try DataDirectory(path: path)
        let error = try #require(try await storageError { _ = try DataDirectory(path: path) })
        #expect(error.code == .inUse)
        #expect(error.message.contains(path) && error.message.contains("process \(getpid())"))
        first.close()
        let second = try DataDirectory(path: path)
        second.close()
    }

    @Test func `a removal that cannot go on fails, and ends once it can`() async throws {
        let directory = try DataDirectory(path: path)
        await (try directory.open(store)).close()
        // The name is not UTF-8.
        let file = "\(path)/.removed-\(store.container)/".utf8CString.dropLast() + [0x62, CChar(bitPattern: 0xff), 0]
        var pieces = 0
        try directory.removalPiece(of: store.container, limit: 1)?.remove()
        let descriptor = file.withUnsafeBufferPointer { open($0.baseAddress!, O_CREAT | O_WRONLY, 0o600) }
        #expect(descriptor >= 0)
        close(descriptor)
        let error = try await storageError {
            while let piece = try directory.removalPiece(of: store.container, limit: 100), pieces < 20 {
                pieces += 1
                try piece.remove()
            }
        }
        #expect(error?.message.contains("Directory not empty") == true && pieces < 20)
        #expect(file.withUnsafeBufferPointer { unlink($0.baseAddress!) } == 0)
        try directory.removalPiece(of: store.container, limit: 100)?.remove()
        #expect(try directory.removalPiece(of: store.container, limit: 100) == nil)
        directory.close()
    }

    @Test func `a listed store without its file is not recreated until its container is removed`() async throws {
        let other = StoreID(container: "iCloud.b", environment: "production")
        var directory = try DataDirectory(path: path, listsStores: true)
        for id in [store, other] { await (try directory.open(id)).close() }
        directory.close()
        let stored = try StoredDirectory(path: path)
        #expect(try stored.missingStores() == [])
        try FileManager.default.removeItem(atPath: "\(path)/\(store.container)")
        #expect(try stored.missingStores() == [store])
        // A command has no list of its own.
        for listsStores in [true, false] {
            directory = try DataDirectory(path: path, listsStores: listsStores)
            let error = #expect(throws: StorageError.self) { _ = try directory.open(store) }
            #expect(
                error?.code == .damaged
                    && error?.message.contains("iCloud.org.example.App, development is missing") == true)
            // A read of a store that does not exist finds nothing, and this one is not read so.
            #expect(throws: StorageError.self) { _ = try directory.exists(store) }
            #expect(try directory.exists(other))
            #expect(!FileManager.default.fileExists(atPath: "\(path)/\(store.container)"))
            await (try directory.open(other)).close()
            directory.close()
        }
        directory = try DataDirectory(path: path)
        try directory.removalPiece(of: store.container, limit: 1)?.remove()
        #expect(try stored.missingStores() == [])
        await (try directory.open(store)).close()
        directory.close()
    }

    @Test func `a list begins with the stores that exist, and its former file is renamed`() async throws {
        let other = StoreID(container: "stores", environment: "production")
        func list(_ name: String = ".stores") throws -> String {
            try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
        }
        var directory = try DataDirectory(path: path)
        await (try directory.open(store)).close()
        directory.close()
        directory = try DataDirectory(path: path, listsStores: true)
        #expect(try list() == "\(store.container) development\n")
        directory.close()
        try FileManager.default.moveItem(atPath: "\(path)/.stores", toPath: "\(path)/stores")
        directory = try DataDirectory(path: path, listsStores: true)
        await (try directory.open(other)).close()
        #expect(try list() == "\(store.container) development\nstores production\n")
        directory.close()
        // A container may have the former name.
        try FileManager.default.removeItem(atPath: "\(path)/.stores")
        directory = try DataDirectory(path: path, listsStores: true)
        #expect(try list() == "\(store.container) development\nstores production\n")
        // A copy from elsewhere lacks a store whose container was deleted there.
        try FileManager.default.removeItem(atPath: "\(path)/\(store.container)")
        try directory.removeMissingStores()
        #expect(try list() == "stores production\n")
        await (try directory.open(store)).close()
        directory.close()
    }

    @Test(arguments: ["iCloud.b", "iCloud.b production late", "# late", "../a production"])
    func `a list that cannot be read is refused`(_ line: String) async throws {
        try DataDirectory(path: path, listsStores: true).close()
        let file = "\(path)/.stores"
        try "iCloud.a production\r\n\n\(line)\r\n".write(toFile: file, atomically: false, encoding: .utf8)
        let errors = [
            #expect(throws: StorageError.self) { _ = try DataDirectory(path: path) },
            #expect(throws: StorageError.self) { _ = try StoredDirectory(path: path).missingStores() },
        ]
        #expect(errors.allSatisfy { $0?.code == .damaged && $0?.message.contains("line 3") == true })
        try "iCloud.a production\r\n".write(toFile: file, atomically: false, encoding: .utf8)
        let missing = try StoredDirectory(path: path).missingStores()
        #expect(missing == [StoreID(container: "iCloud.a", environment: "production")])
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a lock file that leads elsewhere is refused, and its target is unchanged`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(chown(path, 65534, 65534) == 0)
        let victim = "\(path)/victim"
        try "secret".write(toFile: victim, atomically: false, encoding: .utf8)
        for links in [symlink, link] as [(UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32] {
            #expect(links(victim, "\(path)/.lock") == 0)
            #expect(throws: StorageError.self) { _ = try DataDirectory(path: path) }
            #expect(try String(contentsOfFile: victim, encoding: .utf8) == "secret")
            let attributes = try FileManager.default.attributesOfItem(atPath: victim)
            #expect(attributes[.ownerAccountID] as? Int == 0)
            unlink("\(path)/.lock")
        }
    }

    @Test func `the stores of a directory without a list may be lost`() async throws {
        for _ in 0..<2 {
            let directory = try DataDirectory(path: path)
            await (try directory.open(store)).close()
            directory.close()
            try FileManager.default.removeItem(atPath: "\(path)/\(store.container)")
            #expect(try StoredDirectory(path: path).missingStores() == [])
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `a lock file that root makes is the directory's owner's`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(chown(path, 65534, 65534) == 0)
        try DataDirectory(path: path).close()
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/.lock")
        #expect(attributes[.ownerAccountID] as? Int == 65534)
    }

    @Test func `a deleted lock file does not unlock the directory`() async throws {
        let first = try DataDirectory(path: path)
        try FileManager.default.removeItem(atPath: "\(path)/.lock")
        #expect(try await storageError { _ = try DataDirectory(path: path) }?.code == .inUse)
        first.close()
        try DataDirectory(path: path).close()
    }

    @Test func `an open store is not opened a second time`() async throws {
        let directory = try DataDirectory(path: path)
        let engine = try directory.open(store)
        #expect(try await storageError { _ = try directory.open(store) }?.code == .inUse)
        await engine.close()
        let again = try directory.open(store)
        await again.close()
        directory.close()
    }

    @Test func `a directory in use by another process is refused until that process ends`() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
        holder.arguments = ["\(path)/.lock", "sh", "-c", "echo locked; cat"]
        let (input, output) = (Pipe(), Pipe())
        holder.standardInput = input
        holder.standardOutput = output
        try holder.run()
        #expect(output.fileHandleForReading.availableData == Data("locked\n".utf8))

        let error = try #require(try await storageError { _ = try DataDirectory(path: path) })
        #expect(error.code == .inUse)
        #expect(error.message.contains(path))

        try input.fileHandleForWriting.close()
        holder.waitUntilExit()
        let directory = try DataDirectory(path: path)
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
        other.arguments = ["-n", "\(path)/.lock", "true"]
        try other.run()
        other.waitUntilExit()
        #expect(other.terminationStatus == 1, "another process cannot lock it")
        directory.close()
    }

    @Test func `a path that cannot be a directory is refused with the system's reason`() async throws {
        try makeFile(temporary.file("file"))
        for path in [temporary.file("file"), temporary.file("file/below"), "/proc/nowhere/data"] {
            let error = try #require(try await storageError { _ = try DataDirectory(path: path) })
            #expect(error.code == .inputOutput)
            #expect(error.message.contains("directory"), "\(error)")
        }
    }
}
