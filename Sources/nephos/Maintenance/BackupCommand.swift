import Glibc
import NephosObjectStorage
import NephosSQLite
import NephosService
import NephosStorage
import NephosThreads
import Synchronization

/// The command `nephos backup`, which takes consistent snapshots of stores while a server runs.
struct BackupCommand {
    static let options = StoredData.options + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Copy stores as they are now, with the files of their assets.

        Usage: nephos backup [OPTIONS] DIR

        A server may run meanwhile: each database is copied as it was at one moment, and
        no file that it needs is deleted before it is copied too. DIR must have none of the
        stores; it is laid out as a data directory is. What is copied is verified. Where a
        store or a file of assets is damaged or missing the others are copied, and the
        status is 1.

        \(ObjectStorageArguments.note)

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "backup", wordLimit: 1)
        guard let target = arguments.words.first else {
            throw UsageError("nephos backup needs a directory to copy to. See 'nephos backup --help'.")
        }
        let data = try StoredData(arguments)
        try StoredData.run { try await run(data, target) }
    }

    private static func run(_ data: StoredData, _ path: String) async throws {
        let source = try StoredDirectory(path: data.path)
        try data.checkAssetStorage()
        try StoresInFiles.check(data.path, remedy: "Back up the database with pg_dump, and then the files.")
        let objects = try await data.objects()
        defer { objects?.close() }
        // The accounts last: one that is made meanwhile has records in a container only if it is in the backup, too.
        let all = try data.stores(in: source)
        let stores = all.filter { !$0.isInstallation } + all.filter(\.isInstallation)
        if let lost = try data.missingStores(in: source).first, stores.isEmpty {
            throw Cloud.Failure(message: "\(lost.text): missing: an earlier backup has it.")
        }
        // The lock on the directory keeps a server from starting on an incomplete directory.
        let target = try DataDirectory(path: path)
        defer { target.close() }
        let unfinished = UnfinishedCopy(directory: path)
        try unfinished.check()
        try StoredFiles.checkHasNone(of: stores, target)
        _ = try unfinished.begin(stores, from: data.path)
        var (problems, damaged) = (0, 0)
        for id in stores {
            // Its container may have been deleted meanwhile.
            guard source.exists(id) else {
                Console.note("\(id.text): deleted meanwhile")
                continue
            }
            do {
                problems += try await copy(id, from: source, data.files(of: id, in: source, objects), to: target)
            } catch is StorageError where !source.exists(id) {
                Console.note("\(id.text): deleted meanwhile")
            } catch let error as StorageError where [.damaged, .otherVersion].contains(error.code) {
                // The other stores are worth a backup.
                Console.note("\(id.text): \(error.code == .damaged ? "damaged: " : "")\(error.message)")
                damaged += 1
            } catch let error as StorageError {
                throw Cloud.Failure(message: "\(id.text): \(error.message)")
            }
        }
        try unfinished.end()
        for id in try data.missingStores(in: source) {
            Console.note("\(id.text): missing: an earlier backup has it (nephos restore --container \(id.container))")
            damaged += 1
        }
        let missing = [
            damaged == 0 ? nil : damaged == 1 ? "1 store is" : "\(damaged) stores are",
            problems == 0 ? nil : "\(problems) files are",
        ].compactMap(\.self)
        if !missing.isEmpty {
            throw Cloud.Failure(message: "\(missing.joined(separator: ", and ")) not in the backup.")
        }
    }

    /// - Returns: how many files are missing or damaged.
    private static func copy(
        _ id: StoreID, from source: StoredDirectory, _ files: any AssetStore, to target: DataDirectory
    ) async throws -> Int {
        // The files are held before the snapshot of the database is taken, so that its files stay until they are
        // copied.
        let hold = try await files.threads.run { try files.holdFiles() }
        try await BlockingPool.network.run {
            try source.copyDatabase(id, to: target.path, asNewIncarnation: false)
        }
        let copied = try await StoredFiles.copy(id, in: try StoredDirectory(path: target.path), from: files) {
            try target.assets(of: $0)
        }
        withExtendedLifetime(hold) {}
        try await copied.tell(of: id, in: try StoredDirectory(path: target.path))
        return copied.problems.count
    }
}

/// The command `nephos restore`, which restores a backup made with `nephos backup`. The restored stores are new incarnations.
struct RestoreCommand {
    static let options = StoredData.options + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Restore stores from a backup.

        Usage: nephos restore [OPTIONS] DIR

        No server may run, and the data directory must have none of the stores: move away
        what is there. Devices that knew the store as it was later get changeTokenExpired and
        fetch everything again; what was given before the backup (tokens, cursors, upload
        addresses, receipts) is as good as it was. All sessions of a production server end:
        a backup may be in other hands, and may have sessions that were ended since. What
        was revoked since, such as API tokens and roles, is as it was: revoke it again; and
        accounts that were deleted since are back: delete them again. The server's log
        has a line for each, 'account deleted: ID'; a command on the data of a stopped
        server prints the line itself.

        \(ObjectStorageArguments.note)

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "restore", wordLimit: 1)
        guard let source = arguments.words.first else {
            throw UsageError("nephos restore needs the directory of a backup. See 'nephos restore --help'.")
        }
        let data = try StoredData(arguments, exists: false)
        DataOwner.checkExists(data.path, for: "restore")
        if let user = try DataOwner.become(ofData: data.path), access(source, R_OK | X_OK) != 0, errno == EACCES {
            Console.fail(
                "the user \(user), to whom \(data.path) belongs, may not read \(source): "
                    + "\(String(cString: strerror(errno))). Give it to that user (chown -R \(user) \(source)).")
        }
        try StoredData.run { try await run(data, source) }
    }

    private static func run(_ data: StoredData, _ path: String) async throws {
        let source = try StoredDirectory(path: path)
        let stores = try data.stores(in: source)
        try UnfinishedCopy(directory: path).check()
        try StoresInFiles.checkIsNoDatabase(
            data.path, remedy: "Restore to another '--data', whose stores 'nephos migrate' moves to PostgreSQL.")
        try data.checkAssetStorage()
        let objects = try await data.objects()
        defer { objects?.close() }
        let target = try DataDirectory(path: data.path)
        defer { target.close() }
        let unfinished = UnfinishedCopy(directory: data.path)
        if !unfinished.isThere { try StoredFiles.checkHasNone(of: stores, target) }
        let present = try StoredDirectory(path: data.path)
        try await OtherInstallation.refuse(
            from: .init(source.existingStores()) { try source.snapshot($0) },
            to: .init(present.existingStores()) { try present.snapshot($0) })
        // If one store is damaged, no store is restored.
        for id in stores { try await BlockingPool.network.run { try source.check(id) } }
        let isContinued = try unfinished.begin(stores, from: path)
        var problems = 0
        for id in stores where !(isContinued && present.exists(id)) {
            // Files are restored before their store, so that every existing store has its files.
            let directory = try StoredDirectory(path: data.path)
            let copied = try await StoredFiles.copy(id, in: source, from: source.assets(of: id)) {
                data.files(of: $0, in: directory, objects)
            }
            try await BlockingPool.network.run {
                try source.copyDatabase(id, to: data.path, asNewIncarnation: true)
            }
            try await copied.tell(of: id, in: try StoredDirectory(path: data.path))
            if id.isInstallation {
                Console.print("  all sessions ended: everybody signs in again\n")
                Console.print(
                    "  accounts that were deleted since the backup are back: delete those again that the server's log names,\n"
                        + "  as 'account deleted: ID'; nephos accounts list prints their names\n")
            }
            problems += copied.problems.count
        }
        try unfinished.endIfWhole()
        let restored = try StoredDirectory(path: data.path)
        for id in try await StrayAccounts.find(in: restored.existingStores(), { try restored.snapshot($0) }) {
            Console.print("  \(id.text)\n")
        }
        if problems > 0 { throw Cloud.Failure(message: "\(problems) files are not in the backup, and not restored.") }
    }
}

/// Copies the asset files that a database names.
enum StoredFiles {
    struct Copied {
        var count = 0
        var bytes: Int64 = 0
        var problems: [String] = []

        /// Reports which files were restored and which are missing.
        func tell(of id: StoreID, in directory: StoredDirectory) async throws {
            if id.isInstallation {
                let found = try await InstallationVerification(try directory.snapshot(id)).run()
                for problem in found.problems { Console.note("\(id.text): \(problem)") }
                return Console.print("\(id.text): \(found.entries) entries\n")
            }
            let stored = try await RecordCount(try directory.snapshot(id))
            var text = "\(id.text): \(stored.records) records, \(count) files with \(bytes) bytes"
            if stored.damaged > 0 { text += "; \(stored.damaged) records are damaged" }
            if !problems.isEmpty { text += "; \(problems.count) files are left out" }
            Console.print(text + "\n")
        }
    }

    /// - Throws: `Cloud.Failure` if the directory has one of the stores.
    static func checkHasNone(of stores: [StoreID], _ target: DataDirectory) throws {
        let present = try StoredDirectory(path: target.path)
        guard let first = stores.first(where: present.exists) else { return }
        throw Cloud.Failure(
            message:
                "\(target.path) has the store \(first.text) already. Nothing was changed. "
                + (first.isInstallation
                    ? "Move what is in \(target.path) away, or name an empty directory."
                    : "'--container ID' copies a container that is missing."))
    }

    /// - Parameters:
    ///   - directory: the directory that contains the database.
    ///   - target: returns the destination of the files.
    static func copy(
        _ id: StoreID, in directory: StoredDirectory, from source: any AssetStore,
        to target: (StoreID) throws -> any AssetStore
    ) async throws -> Copied {
        let counted = Mutex(Copied())
        let problems = try await AssetCopy.all(
            of: try directory.snapshot(id), from: source, to: try target(id)
        ) { bytes in
            counted.withLock { copied in
                copied.count += 1
                copied.bytes += bytes
            }
        }
        for problem in problems.prefix(100) { Console.note("\(id.text): \(problem)") }
        var copied = counted.withLock { $0 }
        copied.problems = problems
        return copied
    }
}
