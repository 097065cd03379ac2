import Foundation
import NephosSQLite
import NephosStorage

/// A data directory of its own, to be opened again.
struct TemporaryStores {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")

    /// - Parameter log: receives the operator's log lines.
    func open(log: @escaping @Sendable (String) -> Void = { _ in }) throws -> DataDirectory {
        try DataDirectory(path: url.path, options: SQLiteOptions(log: log))
    }

    /// A copy of a container's store in development, which is closed, as `nephos restore` makes it of a backup.
    func restored(_ container: String) throws -> TemporaryStores {
        let copy = TemporaryStores()
        try FileManager.default.createDirectory(at: copy.url, withIntermediateDirectories: true)
        try StoredDirectory(path: url.path).copyDatabase(
            StoreID(container: container, environment: "development"), to: copy.url.path, asNewIncarnation: true)
        return copy
    }

    /// Changes the bytes of a container's store in development, which is closed.
    func edit(_ container: String, _ body: (inout Data) throws -> Void) throws {
        let file = url.appendingPathComponent(container).appendingPathComponent("development.sqlite")
        var data = try Data(contentsOf: file)
        try body(&data)
        try data.write(to: file)
    }

    /// The names of all files and directories below the directory.
    var names: [String] {
        FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String }.sorted() ?? []
    }

    var path: String { url.path }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
