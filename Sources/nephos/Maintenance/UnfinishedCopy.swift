import Glibc
import NephosStorage

/// The mark of a directory into which a backup or a restore copies stores. It is there until all of them are copied: apps
/// would take a store that is missing for deleted data.
struct UnfinishedCopy {
    static let file = "copy.unfinished"

    let directory: String
    private var path: String { "\(directory)/\(Self.file)" }

    /// The directory from which a copy was interrupted, and the paths of its stores; nil where none was interrupted.
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
    /// - Throws: `StorageError` `.constraint` if a copy from another directory was interrupted there.
    /// - Returns: whether a copy from the same directory was interrupted.
    func begin(_ stores: [StoreID], from source: String) throws -> Bool {
        let source = Self.absolute(source)
        if let former = try lines {
            if former.first == source { return true }
            throw StorageError(
                .constraint,
                "\(directory) has a part of the stores of \(former.first ?? "a backup") alone: their copy was interrupted."
            )
        }
        let text = ([source] + stores.map { "\($0.container)/\($0.environment)" }).joined(separator: "\n")
        try FileSystem.write(text, to: path)
        return false
    }

    /// Removes the mark once the directory has every store that was to be copied.
    func endIfWhole() throws {
        let isWhole = try lines?.dropFirst().allSatisfy { FileSystem.exists("\(directory)/\($0).sqlite") } ?? false
        if isWhole { try end() }
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
            \(directory) may lack stores: the file \(Self.file) in it says that a backup or a restore from \(source) was \
            interrupted. Restore again, which goes on where it was; remove a backup, and begin it again.
            """)
    }
}
