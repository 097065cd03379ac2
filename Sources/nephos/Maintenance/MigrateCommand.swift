import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage

/// The command `nephos migrate`, which moves stores from files to PostgreSQL or back.
struct MigrateCommand {
    static let options = [
        CommandOption(
            "--from", "PLACE", "The data directory, or postgresql://USER@HOST/DATABASE, that has the stores."),
        CommandOption("--to", "PLACE", "The other: where they are to be. It must hold nothing of them."),
        CommandOption("--container", "ID", "This container alone. Default: all"),
        CommandOption(
            "--accept-unsafe-storage", nil, "Use a PostgreSQL server also where it may lose what was answered."),
        CommandOption("--help", nil, "Show this help."),
    ]

    static let help = """
        Move stores from files to PostgreSQL, or back.

        Usage: nephos migrate --from PLACE --to PLACE [OPTIONS]

        Copies every row, reads it again and compares, and keeps a store only whole. IDs,
        change tokens and what waits to be done go on where they were, and so do the
        sessions of a production server, whose accounts and API tokens move with the
        first container. No server may run. Where it was interrupted, no server starts with
        the second place until it is repeated, which goes on where it was. As long as stores
        of a directory are not in the database, none starts with both.
        The stores at the first place stay as they are: start no server there again. Once
        all are moved, a directory of files says that it is PostgreSQL's
        (assets.id): commands on it need --storage, and those that have no such option
        a running server's --url or --socket.

        The files of assets stay where they are: start the server with the same --data, or
        the same --asset-storage.

        Options:
        \(CommandOption.help(options))

        """

    private enum Place {
        case directory(DataDirectory)
        case database(PostgresStores)

        func existingStores() throws -> [StoreID] {
            switch self {
            case .directory(let directory): try directory.existingStores()
            case .database(let stores): try stores.existingStores()
            }
        }

        /// - Parameter stores: the existing stores.
        func installation(among stores: [StoreID]) -> OtherInstallation.Place {
            switch self {
            case .directory(let directory): OtherInstallation.Place(stores) { try directory.open($0) }
            case .database(let database): OtherInstallation.Place(stores) { try database.open($0) }
            }
        }

        func image(of id: StoreID, isTarget: Bool) throws -> any StoreCopy {
            switch self {
            case .directory(let directory): try SQLiteImage(id, in: directory)
            case .database(let stores): try stores.image(of: id, isTarget: isTarget)
            }
        }

        /// Notes that stores are to be copied here, so that nothing uses the others before.
        func begin(_ stores: [StoreID], from source: String) throws {
            switch self {
            case .directory(let directory):
                _ = try UnfinishedCopy(directory: directory.path).begin(stores, from: source)
            case .database(let database):
                try database.forgetUnusedAssetPlace()
                try database.expect(stores)
            }
        }

        /// Removes the note, unless stores are missing.
        /// - Returns: the missing stores.
        func end() throws -> [String] {
            switch self {
            case .directory(let directory):
                try UnfinishedCopy(directory: directory.path).endIfWhole()
            case .database(let stores): try stores.expectedStores().map(\.text)
            }
        }

        func close() {
            switch self {
            case .directory(let directory): directory.close()
            case .database(let stores): stores.close()
            }
        }
    }

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "migrate")
        guard let from = arguments["--from"], let to = arguments["--to"] else {
            throw UsageError("'nephos migrate' takes '--from' and '--to'. See 'nephos migrate --help'.")
        }
        guard StorageAddress.isOne(from) != StorageAddress.isOne(to) else {
            throw UsageError(
                "One of '--from' and '--to' is a directory, and the other postgresql://USER@HOST/DATABASE.")
        }
        let addresses = (
            from: StorageAddress.isOne(from) ? try StorageAddress.parse(from, option: "--from") : nil,
            to: StorageAddress.isOne(to) ? try StorageAddress.parse(to, option: "--to") : nil
        )
        let container = arguments["--container"]
        let log = ServiceEnvironment.system.log
        let options = PostgresOptions(acceptsUnsafeServer: arguments.has("--accept-unsafe-storage"), log: log)
        if addresses.to == nil { DataOwner.checkExists(to, for: "migrate") }
        try DataOwner.become(ofData: addresses.from == nil ? from : to)
        try StoredData.run {
            // Creating a missing directory would hide a mistyped name.
            if addresses.from == nil {
                _ = try StoredDirectory(path: from)
                try UnfinishedCopy(directory: from).check()
                for id in try StoredDirectory(path: from).missingStores()
                where container == nil || container == id.container {
                    throw Cloud.Failure(
                        message:
                            "\(id.text): missing: a server of the copy would make it anew, empty. Restore it (nephos restore "
                            + "--container \(id.container)), or remove its line from \(from)/.stores.")
                }
                if container == nil, let target = addresses.to {
                    try StoresInFiles.checkAreNotMoved(from, to: target, options)
                }
            }
            func open(_ address: PostgresAddress?, _ path: String, isTarget: Bool) throws -> Place {
                guard let address else {
                    return .directory(try DataDirectory(path: path, options: SQLiteOptions(log: log)))
                }
                return .database(try PostgresStores(address, options: options, for: .copy(isTarget: isTarget)))
            }
            let source = try open(addresses.from, from, isTarget: false)
            defer { source.close() }
            let target = try open(addresses.to, to, isTarget: true)
            defer { target.close() }
            try await move(from: source, from, to: target, only: container)
            // Containers that were not moved are still served from where they are.
            guard try Set(target.existingStores()).isSuperset(of: source.existingStores()) else { return }
            if addresses.from == nil {
                try PostgresStores.keep(directory: from)
            } else {
                // Of one container alone the copy says nothing about the others.
                if case .directory(let directory) = target, container == nil { try directory.removeMissingStores() }
                if case .database(let stores) = source { tellOfAssets(of: stores, in: to) }
                try PostgresStores.release(directory: to)
            }
        }
    }

    /// Says where the files of assets are, if they are not in the directory that the stores were copied to.
    private static func tellOfAssets(of stores: PostgresStores, in directory: String) {
        do {
            try stores.checkAssets(in: .directory(directory))
        } catch {
            Console.note(
                "\((error as? StorageError)?.message ?? "\(error)") Copy each CONTAINER/ENVIRONMENT.assets from there to "
                    + "\(directory) before a server starts, or give it the same '--asset-storage'; 'nephos verify' names what is missing."
            )
        }
    }

    /// - Parameter address: the source, as it was given.
    private static func move(
        from source: Place, _ address: String, to target: Place, only container: String?
    ) async throws {
        let all = try source.existingStores()
        var stores = all.filter { container == nil || $0.container == container }
        guard !stores.isEmpty else {
            throw Cloud.Failure(message: "there is \(container.map { "no container \($0)" } ?? "no store") to move.")
        }
        let present = try target.existingStores()
        try await OtherInstallation.refuse(
            from: source.installation(among: all), to: target.installation(among: present))
        // A container's accounts are known by their IDs, and their names are the installation's.
        if all.contains(.installation), !stores.contains(.installation), !present.contains(.installation) {
            stores.append(.installation)
        }
        stores = stores.inOrderOfCopying
        try target.begin(stores, from: address)
        for id in stores {
            let from = try source.image(of: id, isTarget: false)
            defer { from.close() }
            let to = try target.image(of: id, isTarget: true)
            defer { to.close() }
            do {
                let rows = try StoreMove.run(from: from, to: to)
                Console.print("\(id.text): \(rows.map { "\($0) rows" } ?? "copied before")\n")
            } catch let error as StorageError {
                // A refusal leaves no mark on a place that has every store.
                _ = try? target.end()
                throw StorageError(error.code, "\(id.text): \(error.message)")
            }
        }
        let missing = try target.end()
        if !missing.isEmpty {
            Console.note(
                "an interrupted migration is still to copy \(missing.joined(separator: "; ")). Nothing is served before."
            )
        }
    }
}
