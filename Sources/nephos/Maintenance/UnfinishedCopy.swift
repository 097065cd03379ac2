import Glibc
import NephosStorage

/// The mark of a directory into which a backup, a restore or a migration copies stores. It is there until all of them are copied: apps
/// would take a store that is missing for deleted data.
struct UnfinishedCopy {
    static let file = "copy.unfinished"

    let directory: String
    private var path: String { "\(directory)/\(Self.file)" }

    /// The place from which a copy was interrupted, and the paths of its stores; nil where none was interrupted.
    private var lines: [String]? {
        get throws {
            guard isThere else { return nil }
            let reader = try LineReader(path)
            var lines: [String] = []
            while let line = try reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            return lines
        }
    }

    var isThere: Bool { FileSystem.exists(path) }

    /// Marks the directory, before the first store is copied.
    /// - Throws: `StorageError` `.constraint` if a copy from another place was interrupted there.
    /// - Returns: whether a copy from the same place was interrupted.
    func begin(_ stores: [StoreID], from source: String) throws -> Bool {
        let source = Self.absolute(source)
        let former = try lines ?? [source]
        guard former.first == source else {
            throw StorageError(
                .constraint,
                """
                \(directory) has a part of the stores of \(former.first ?? "a backup") alone: their copy was interrupted. It goes \
                on from there: put back what was moved from there; or move \(directory) away, and copy to an empty directory.
                """)
        }
        let added = stores.map { "\($0.container)/\($0.environment)" }.filter { !former.contains($0) }
        if !added.isEmpty { try FileSystem.write((former + added).joined(separator: "\n"), to: path) }
        return former.count > 1
    }

    /// Removes the mark once the directory has every store that was to be copied.
    /// - Returns: the paths of the stores that it lacks.
    @discardableResult func endIfWhole() throws -> [String] {
        let missing = try (lines ?? []).dropFirst().filter { !FileSystem.exists("\(directory)/\($0).sqlite") }
        if missing.isEmpty, isThere { try end() }
        return missing
    }

    func end() throws {
        guard unlink(path) == 0 else { throw StorageError(system: errno, while: "removing \(path)") }
        try FileSystem.synchronize(directory: directory)
    }

    private static func absolute(_ path: String) -> String {
        guard let text = realpath(path, nil) else { return path }
        defer { free(text) }
        return String(cString: text)
    }

    /// Refuses the directory while stores may be missing.
    /// - Throws: `StorageError` `.constraint`.
    func check() throws {
        guard let source = try lines?.first else { return }
        throw StorageError(
            .constraint,
            """
            \(directory) may lack stores: the file \(Self.file) in it says that a copy from \(source) was interrupted. Repeat \
            'nephos restore' or 'nephos migrate', which go on where they were; remove a backup, and begin it again.
            """)
    }
}
