import Foundation
import NephosSQLite

/// A data directory of its own, to be opened again.
struct TemporaryStores {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")

    func open() throws -> DataDirectory { try DataDirectory(path: url.path) }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
