import Glibc
import NephosSQLite
import NephosStorage

/// The note of a data directory whose files of assets are in object storage: the file `.asset-storage` with the place. Without it a
/// server that was started without the option would not find the files, and keep new ones elsewhere.
struct AssetStorageNote {
    private let directory: String
    private var path: String { "\(directory)/.asset-storage" }

    init(_ directory: String) { self.directory = directory }

    /// - Parameter storage: the object storage of the options.
    /// - Throws: `StorageError` `.constraint` if the note has another place.
    func check(_ storage: ObjectStorageArguments) throws {
        guard let noted = try place else { return }
        let given = storage.address
        if given == noted { return }
        throw StorageError(
            .constraint,
            """
            The files of the assets of \(directory) are in \(noted), not in \(given ?? "the directory"). Give '--asset-storage \(noted)'; or, \
            once the files are where they should be, remove \(path).
            """)
    }

    /// Notes the object storage, if there is one and nothing is noted.
    func note(_ storage: ObjectStorageArguments) throws {
        guard let given = storage.address, try place == nil else { return }
        try FileSystem.write("\(given)\n", to: path)
    }

    private var place: String? {
        get throws {
            guard FileSystem.exists(path) else { return nil }
            return try LineReader(path).next().map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
