import NephosHTTP
import NephosObjectStorage
import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage
import NephosWire

/// The stores that an operator's command works on, and the location of their asset files.
struct StoredData {
    static let options =
        [
            CommandOption("--data", "DIR", "The data directory. Default: ./.nephos"),
            CommandOption("--container", "ID", "This container alone. Default: all"),
        ] + ObjectStorageArguments.options

    private let container: String?
    private let storage: ObjectStorageArguments
    let path: String

    /// - Parameter exists: whether the command reads a data directory that is there.
    init(_ arguments: Arguments, exists: Bool = true) throws(UsageError) {
        path = arguments["--data"] ?? "./.nephos"
        if exists, !arguments.has("--data"), !FileSystem.exists(path) {
            throw UsageError(
                "there is no directory \(path): name the data with '--data DIR', a server's \(ServeCommand.defaultData)."
            )
        }
        container = arguments["--container"]
        storage = try ObjectStorageArguments(arguments)
    }

    /// Runs the body of a command. The exit status reports success or failure.
    static func run(_ body: @escaping @Sendable () async throws -> Void) throws(UsageError) {
        let failure = waiting { () async -> (any Error)? in
            do {
                try await body()
                return nil
            } catch {
                return error
            }
        }
        switch failure {
        case nil: return
        case let error as UsageError: throw error
        case let error as StorageError: Console.fail(error.message)
        case let error as Cloud.Failure: Console.fail(error.message)
        case let error?: Console.fail("\(error)")
        }
    }

    /// Returns the selected stores of a directory; none if all of them are missing.
    /// - Throws: `Cloud.Failure` if no store is selected.
    func stores(in directory: StoredDirectory) throws -> [StoreID] {
        let existing = try directory.existingStores()
        let missing = try missingStores(in: directory)
        return try chosen(of: existing + missing, in: directory.path).filter { !missing.contains($0) }
    }

    /// Returns the selected stores that the directory lists, and whose files are missing.
    func missingStores(in directory: StoredDirectory) throws -> [StoreID] {
        try directory.missingStores().filter { container == nil || $0.container == container }
    }

    /// Returns the selected stores, out of all stores of a place.
    /// - Throws: `Cloud.Failure` if no store is selected.
    func chosen(of all: [StoreID], in place: String) throws -> [StoreID] {
        let found = all.filter { container == nil || $0.container == container }
        guard !found.isEmpty else {
            if all.isEmpty { throw Cloud.Failure(message: "there are no stores in \(place).") }
            let list = Set(all.map(\.container)).sorted().joined(separator: ", ")
            let meant = container.map { Suggestion.text(for: $0, among: Set(all.map(\.container)).sorted()) } ?? ""
            throw Cloud.Failure(
                message:
                    "there is no container \(container.map { "\($0) " } ?? "")in \(place). There are: \(list).\(meant)"
            )
        }
        return found.inOrderOfCopying
    }

    var assetPlace: AssetPlace { storage.place(or: path) }

    /// - Throws: `StorageError` `.constraint` if the files of the directory's assets are elsewhere.
    func checkAssetStorage() throws { try AssetStorageNote(path).check(storage) }

    func objects() async throws -> ObjectRequests? { try await storage.requests() }

    /// Returns the storage of a store's asset files.
    func files(of id: StoreID, in directory: StoredDirectory, _ objects: ObjectRequests?) -> any AssetStore {
        guard let objects else { return directory.assets(of: id) }
        return ObjectAssetStore(objects, id, spool: ObjectStorageProvider.spool(directory.path, id))
    }
}

extension [StoreID] {
    /// Sorted, the accounts' store first: an interrupted copy of the others alone would look like the data of
    /// `nephos dev`.
    var inOrderOfCopying: [StoreID] {
        sorted {
            ($0.isInstallation ? 0 : 1, $0.container, $0.environment)
                < ($1.isInstallation ? 0 : 1, $1.container, $1.environment)
        }
    }
}

extension StoreID {
    var text: String { "\(container), \(environment)" }
}
