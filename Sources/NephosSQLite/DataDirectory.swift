package import NephosStorage
import Synchronization

/// A directory with one SQLite file per store: `<container>/<environment>.sqlite`. The store's asset files are beside
/// it in `<environment>.assets`.
///
/// Only one process at a time has the directory open. Directories have mode 0700 and files have mode 0600.
package final class DataDirectory: StoreProvider {
    package let path: String
    let options: SQLiteOptions
    private let lock: DirectoryLock
    /// The stores that are not recreated without their files; nil without a list.
    private let list: StoreList?
    private let engines = Mutex<[StoreID: WeakEngine]>([:])

    private struct WeakEngine {
        weak var engine: SQLiteEngine?
    }

    /// Opens the directory, and creates it if it is missing.
    /// - Parameter listsStores: whether stores are added to a list, and not recreated once lost. An existing list is used in
    ///   any case.
    /// - Throws: `StorageError` `.inUse` if a process has the directory open, or `.inputOutput`.
    package init(path: String, options: SQLiteOptions = SQLiteOptions(), listsStores: Bool = false) throws {
        try FileSystem.makeDirectory(path)
        self.path = path
        self.options = options
        lock = try DirectoryLock(directory: path)
        list = try StoreList(in: path, creates: listsStores)
    }

    /// Returns the path of the store's file. Creates the file's directory.
    func file(for id: StoreID) throws -> String {
        try Self.check(id.container, "container identifier")
        try Self.check(id.environment, "environment")
        try FileSystem.makeDirectory("\(path)/\(id.container)")
        return "\(path)/\(id.container)/\(id.environment).sqlite"
    }

    package func open(_ id: StoreID) throws -> any StorageEngine {
        return try engines.withLock { engines in
            if let engine = engines[id]?.engine, !engine.isClosed {
                throw StorageError(.inUse, "The store \(id.container), \(id.environment) is open already.")
            }
            _ = try exists(id)
            let engine = try SQLiteEngine(path: try file(for: id), options: options, lease: lock)
            engines[id] = WeakEngine(engine: engine)
            try list?.add(id)
            return engine
        }
    }

    package func assets(of id: StoreID) throws -> any AssetStore {
        try Self.check(id.container, "container identifier")
        try Self.check(id.environment, "environment")
        return AssetDirectory(path: "\(path)/\(id.container)/\(id.environment).assets")
    }

    /// - Throws: `StorageError` `.damaged` for a listed store without its file: a reader must not treat it as empty.
    package func exists(_ id: StoreID) throws -> Bool {
        guard Self.isSafe(id.container), Self.isSafe(id.environment) else { return false }
        if FileSystem.exists("\(path)/\(id.container)/\(id.environment).sqlite") { return true }
        try list?.refuse(missing: id)
        return false
    }

    /// Removes the stores without a file from the list, once a copy has brought all that exist.
    package func removeMissingStores() throws {
        try list?.remove(missingStores())
    }

    package var keepsStores: Bool { true }

    package var identity: String { lock.identity }

    package var blanks: (any StoreProvider)? { MemoryStores(options: options) }

    package func existingStores() throws -> [StoreID] { try Self.stores(in: path) }

    package func missingStores() -> [StoreID] {
        list?.all.filter { !FileSystem.exists("\(path)/\($0.container)/\($0.environment).sqlite") } ?? []
    }

    static func stores(in path: String) throws -> [StoreID] {
        let containers = try FileSystem.names(in: path).filter { name in
            isSafe(name) && FileSystem.isDirectory("\(path)/\(name)")
        }
        return try containers.flatMap { container in
            try FileSystem.names(in: "\(path)/\(container)").compactMap { file in
                let environment = String(file.dropLast(".sqlite".count))
                guard file.hasSuffix(".sqlite"), isSafe(environment) else { return nil }
                return StoreID(container: container, environment: environment)
            }
        }
    }

    /// Rewrites the files, with their write-ahead logs (`VACUUM`).
    package func eraseDeletedRows() throws {
        for id in try existingStores() {
            let connection = try Connection(path: try file(for: id), access: .writing)
            defer { connection.close() }
            try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; VACUUM")
            // The first column says whether the log could not be emptied.
            guard try connection.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
                throw StorageError(
                    .inUse, "Another process, such as a backup, reads the store \(id.container), \(id.environment).")
            }
        }
    }

    package func removalPiece(of container: String, limit: Int) throws -> RemovalPiece? {
        try Self.check(container, "container identifier")
        let directory = RemovedDirectory(container, in: path)
        let isListed = list?.all.contains { $0.container == container } == true
        guard isListed || directory.exists else { return nil }
        return RemovalPiece { [self] in
            try engines.withLock { engines in
                let isOpen = engines.contains { $0.container == container && $1.engine?.isClosed == false }
                if isOpen { throw StorageError(.busy, "A store of \(container) is open.") }
                try list?.remove(container)
                try directory.rename()
            }
            try directory.removePiece(limit: limit)
        }
    }

    package func close() {
        lock.release()
    }

    /// Refuses a name that could lead out of the directory.
    private static func check(_ name: String, _ what: String) throws {
        guard isSafe(name) else {
            throw StorageError(
                .constraint,
                """
                The \(what) "\(name)" cannot be used: 1 to 200 letters, digits, ".", "-" and "_", not starting with ".".
                """)
        }
    }

    static func isSafe(_ name: String) -> Bool {
        let hasSafeBytes = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return hasSafeBytes && (1...200).contains(name.utf8.count) && !name.hasPrefix(".")
    }
}
