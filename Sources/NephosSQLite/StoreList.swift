import Glibc
import NephosStorage
import Synchronization

/// The list of a production server's stores in a data directory: the file `.stores`, a container and an environment per line.
/// A listed store without its file is not recreated: devices would treat an empty store as deleted data.
final class StoreList: Sendable {
    private let path: String
    private let stores: Mutex<Set<StoreID>>

    /// Reads the list of a directory.
    /// - Parameter creates: whether a missing list is created, with the stores that exist. A list under its former name, which a container may have, is
    ///   renamed.
    /// - Returns: nil without a list.
    /// - Throws: `StorageError`.
    init?(in directory: String, creates: Bool = false) throws {
        path = "\(directory)/.stores"
        let former = "\(directory)/stores"
        let isFormer = !FileSystem.exists(path) && FileSystem.isFile(former)
        if creates, isFormer, rename(former, path) != 0 {
            throw StorageError(system: errno, while: "renaming \(former)")
        }
        let place = isFormer && !creates ? former : path
        if let text = try Self.text(place) {
            stores = Mutex(try Self.stores(text, place))
        } else {
            if !creates { return nil }
            let existing = Set(try DataDirectory.stores(in: directory))
            try Self.write(existing, to: path)
            stores = Mutex(existing)
        }
    }

    /// - Throws: `StorageError` `.damaged` for a line that names no store: an administrator may edit the file.
    private static func stores(_ text: String, _ path: String) throws -> Set<StoreID> {
        var stores: Set<StoreID> = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(separator: " ")
            if words.isEmpty { continue }
            guard words.count == 2, words.allSatisfy({ DataDirectory.isSafe(String($0)) }) else {
                throw StorageError(
                    .damaged, "line \(index + 1) of \(path) is not a container and its environment. Correct it")
            }
            stores.insert(StoreID(container: String(words[0]), environment: String(words[1])))
        }
        return stores
    }

    private static func write(_ stores: Set<StoreID>, to path: String) throws {
        try FileSystem.write(stores.map { "\($0.container) \($0.environment)\n" }.sorted().joined(), to: path)
    }

    /// - Returns: the content of the file; nil if it does not exist.
    private static func text(_ path: String) throws -> String? {
        let descriptor = FileSystem.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StorageError(system: errno, while: "opening \(path)")
        }
        defer { Glibc.close(descriptor) }
        var (bytes, piece): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65536))
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0 { throw StorageError(system: errno, while: "reading \(path)") }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    var all: Set<StoreID> { stores.withLock { $0 } }

    /// Adds a store that exists. Blocks.
    func add(_ id: StoreID) throws { try change { $0.insert(id).inserted } }

    /// Removes the stores of a container. Blocks.
    func remove(_ container: String) throws { try remove(all.filter { $0.container == container }) }

    /// Removes stores. Blocks.
    func remove(_ removed: [StoreID]) throws {
        try change { stores in
            let count = stores.count
            stores.subtract(removed)
            return stores.count < count
        }
    }

    /// - Parameter body: returns whether it changed the list.
    private func change(_ body: (inout Set<StoreID>) -> Bool) throws {
        try stores.withLock { stores in
            var changed = stores
            guard body(&changed) else { return }
            try Self.write(changed, to: path)
            stores = changed
        }
    }

    /// - Throws: `StorageError` `.damaged` if the list has the store.
    func refuse(missing id: StoreID) throws {
        guard all.contains(id) else { return }
        throw StorageError(
            .damaged,
            """
            The store of \(id.container), \(id.environment) is missing, and is not recreated: devices would treat an empty one as \
            deleted data. Restore it (nephos restore --container \(id.container)), or remove its line from \(path) to start empty
            """)
    }
}
