import Glibc
import NephosStorage

/// Where the files of a database's assets are.
package enum AssetPlace: Sendable {
    /// A directory, which is known by a file in it: servers may reach one at different paths, and have different ones at
    /// the same path.
    case directory(String)
    /// A place in object storage: `s3://BUCKET/PREFIX`.
    case objects(String)
}

/// The database says where the files of its assets are. A server that keeps them elsewhere would not find those of the
/// others, nor they its own.
extension PostgresStores {
    /// The file by which a directory is known.
    package static let directoryFile = "assets.id"

    /// Notes where the files are, where nothing is noted yet.
    /// - Throws: `StorageError` where another place is.
    package func keepAssets(in place: AssetPlace) throws {
        if try checkAssets(in: place) { return }
        switch place {
        case .objects(let address): try note(address)
        case .directory(let path):
            let file = "\(path)/\(Self.directoryFile)"
            let isNew = try Self.makeIdentifier(file)
            guard let identifier = try Self.identifier(file) else {
                throw StorageError(.damaged, "\(file) is empty: whose files these are is not known.")
            }
            try note("directory \(identifier)")
            do {
                _ = try checkAssets(in: place)
            } catch {
                // Another server was faster, elsewhere.
                if isNew { unlink(file) }
                throw error
            }
            return
        }
        _ = try checkAssets(in: place)
    }

    /// Deletes the noted place if the database has no store, so that the next server notes its own. Blocks.
    /// - Throws: `StorageError`.
    package func forgetUnusedAssetPlace() throws {
        try connected { connection in
            _ = try connection.ask("DELETE FROM asset_place WHERE NOT EXISTS (SELECT FROM store)")
        }
    }

    /// Compares a place with what is noted.
    /// - Returns: false where nothing is.
    /// - Throws: `StorageError` where another place is.
    @discardableResult
    package func checkAssets(in place: AssetPlace) throws -> Bool {
        try Self.check(place, againstNoted: connected(Self.notedPlace))
    }

    /// - Parameter noted: what the database says; nil if it says nothing.
    @discardableResult
    static func check(_ place: AssetPlace, againstNoted noted: String?) throws -> Bool {
        guard let noted else { return false }
        let (mine, name): (String?, String)
        switch place {
        case .objects(let address): (mine, name) = (address, address)
        case .directory(let path):
            mine = try identifier("\(path)/\(directoryFile)").map { "directory \($0)" }
            name = "the directory \(path)"
        }
        if mine == noted { return true }
        let other =
            noted.hasPrefix("directory ")
            ? "another directory, whose file \(directoryFile) says \(noted.dropFirst(10))" : noted
        throw StorageError(
            .constraint,
            "The files of this database's assets are not in \(name), but in \(other). All its servers need the same "
                + "place: one directory that they share (--data), or object storage (--asset-storage).")
    }

    /// Returns what the database says of where the files are; nil if it says nothing.
    static func notedPlace(_ connection: PostgresConnection) throws -> String? {
        try connection.ask("SELECT place FROM asset_place").first?.first
    }

    private func note(_ place: String) throws {
        try connected { connection in
            _ = try connection.ask(
                """
                INSERT INTO asset_place (id, place) VALUES (1, \(PostgresAddress.literal(place))) ON CONFLICT DO NOTHING
                """)
        }
    }

    // MARK: The directory's file

    /// Whether a directory is known as one of a database's files. Stores that are in it are those of before, if any.
    package static func isOfDatabase(directory path: String) -> Bool {
        FileSystem.exists("\(path)/\(directoryFile)")
    }

    /// Makes a directory known as one of a database's files, without a note in the database.
    package static func keep(directory path: String) throws { _ = try makeIdentifier("\(path)/\(directoryFile)") }

    /// Makes a directory one of stores in files again.
    package static func release(directory path: String) throws {
        let file = "\(path)/\(directoryFile)"
        guard unlink(file) == 0 || errno == ENOENT else { throw StorageError(system: errno, while: "removing \(file)") }
        try FileSystem.synchronizeParent(of: file)
    }

    /// Nil where there is none.
    private static func identifier(_ file: String) throws -> String? {
        let descriptor = FileSystem.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw StorageError(system: errno, while: "opening \(file)")
        }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw StorageError(system: errno, while: "reading \(file)") }
        let line = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// - Returns: false where there is one.
    private static func makeIdentifier(_ file: String) throws -> Bool {
        if FileSystem.exists(file) { return false }
        try FileSystem.makeDirectory(FileSystem.parent(of: file))
        let identifier = (0..<2).map { _ in String(UInt64.random(in: 1 << 63 ... .max), radix: 16) }.joined()
        // Whole or not at all: another server may be reading it.
        let draft = "\(file).\(identifier)"
        let descriptor = FileSystem.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making \(draft)") }
        defer {
            Glibc.close(descriptor)
            unlink(draft)
        }
        let text = Array("\(identifier)\n".utf8)
        guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
            throw StorageError(system: errno, while: "writing \(draft)")
        }
        if link(draft, file) != 0 {
            if errno == EEXIST { return false }
            throw StorageError(system: errno, while: "making \(file)")
        }
        try FileSystem.synchronizeParent(of: file)
        return true
    }
}
