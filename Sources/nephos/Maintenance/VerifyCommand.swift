import NephosObjectStorage
import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage
import NephosThreads

/// The command `nephos verify`, which checks the integrity of stores.
struct VerifyCommand {
    static let options =
        StoredData.options + [
            CommandOption(
                "--storage", "ADDRESS",
                """
                The stores are in PostgreSQL, postgresql://USER@HOST/DATABASE, and
                --data has the files of their assets.
                """),
            CommandOption(
                "--accept-unsafe-storage", nil, "Read a PostgreSQL server also where it may lose what was answered."),
            CommandOption(
                "--remove-orphans", nil,
                """
                Delete the files that no row names, after a question. No server may
                run.
                """),
            Confirmation.option,
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        Check that stores are whole: the database, every record, every file.

        Usage: nephos verify [OPTIONS]

        Reads all records and all files of assets, and says what is damaged, missing or
        not needed, and which rows belong to a zone or an account that does not exist. So
        are the accounts, sessions, roles and API tokens of a production server. A server
        may run meanwhile. The status is 1 where something is wrong.

        A file that no row names harms nobody. Files that are uploaded while it runs count
        as such, and so do those of another store in the same place: delete them only where
        you know what they are. None is deleted of a store whose database is damaged, as
        its rows may be among what is lost.

        \(ObjectStorageArguments.note)

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "verify")
        // Rows and files may be elsewhere.
        let data = try StoredData(arguments, exists: !(arguments.has("--storage") && arguments.has("--asset-storage")))
        let removal = arguments.has("--remove-orphans") ? Confirmation(arguments) : nil
        guard removal != nil || !arguments.has(Confirmation.option.name) else {
            throw UsageError("'--yes' is for '--remove-orphans': nothing else is erased. See 'nephos verify --help'.")
        }
        try DataOwner.become(ofData: data.path)
        guard let text = arguments["--storage"] else { return try StoredData.run { try await run(data, removal) } }
        if removal != nil { throw UsageError("'--remove-orphans' and '--storage' exclude each other.") }
        let address = try StorageAddress.parse(text, option: "--storage")
        // Searching for stray rows scans whole tables.
        let options = PostgresOptions(
            connections: 2, statementMilliseconds: 3_600_000,
            acceptsUnsafeServer: arguments.has("--accept-unsafe-storage"))
        try StoredData.run { try await run(data, over: address, options) }
    }

    /// Verifies stores in PostgreSQL. The database's own tools check its pages.
    private static func run(_ data: StoredData, over address: PostgresAddress, _ options: PostgresOptions) async throws
    {
        let objects = try await data.objects()
        defer { objects?.close() }
        let stores = try StoresInFiles.database(address, options, assets: data.path)
        defer { stores.close() }
        try stores.checkAssets(in: data.assetPlace)
        var isWhole = true
        for id in try data.chosen(of: try stores.existingStores(), in: "the database") {
            let files: any AssetStore =
                try objects.map { ObjectAssetStore($0, id, spool: ObjectStorageProvider.spool(data.path, id)) }
                ?? stores.assets(of: id)
            let engine = try stores.open(id)
            let hold = try await files.threads.run { try files.holdFiles() }
            let findings = try await Findings.read(of: id, engine, files)
            withExtendedLifetime(hold) {}
            await engine.close()
            isWhole = tell(findings, of: id) && isWhole
            list(findings.orphans, all: false)
        }
        isWhole = try await tellStrayAccounts(stores.existingStores()) { try stores.open($0) } && isWhole
        if !isWhole { throw Cloud.Failure(message: "not everything is whole.") }
    }

    /// What a verification found in a store.
    private struct Findings {
        /// What there is, in words.
        var counted: String
        var problems: [String]
        var problemCount: Int
        var orphans: [String] = []
        /// Whether everything was read.
        var isComplete = true

        /// - Parameter error: the damage that ended the verification.
        private init(endedBy error: StorageError) {
            counted = "cannot be read to its end"
            (problems, problemCount, isComplete) = ([error.message], 1, false)
        }

        static func read(
            of id: StoreID, _ engine: any StorageEngine, _ files: any AssetStore
        ) async throws -> Findings {
            do {
                return try await Findings(of: id, engine, files)
            } catch let error as StorageError where error.code == .damaged {
                return Findings(endedBy: error)
            }
        }

        private init(of id: StoreID, _ engine: any StorageEngine, _ files: any AssetStore) async throws {
            if id.isInstallation {
                let found = try await InstallationVerification(engine).run()
                counted = "\(found.entries) entries"
                (problems, problemCount) = (found.problems, found.problemCount)
            } else {
                let found = try await StoreVerification(engine, files).run()
                counted = "\(found.records) records, \(found.files) files with \(found.bytes) bytes"
                (problems, problemCount, orphans) = (found.problems, found.problemCount, found.orphans)
            }
        }
    }

    /// Reports the defects of a store.
    /// - Returns: true if there are none.
    private static func tell(_ findings: Findings, of id: StoreID, _ broken: [String] = []) -> Bool {
        Console.print("\(id.text): \(findings.counted)\n")
        for problem in broken + findings.problems { Console.print("  \(problem)\n") }
        let unlisted = findings.problemCount - findings.problems.count
        if unlisted > 0 { Console.print("  and \(unlisted) more\n") }
        return findings.problemCount == 0 && broken.isEmpty
    }

    /// Reports accounts that containers have and the installation lacks.
    /// - Returns: true if there are none.
    private static func tellStrayAccounts(
        _ stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws -> Bool {
        let strays: [StrayAccounts]
        do {
            strays = try await StrayAccounts.find(in: stores, open)
        } catch let error as StorageError where error.code == .damaged {
            // The installation's own verification says so.
            return true
        }
        for stray in strays { Console.print("\(stray.text)\n") }
        return strays.isEmpty
    }

    /// - Parameter removal: asks before files without a row are deleted; nil to delete none.
    private static func run(_ data: StoredData, _ removal: Confirmation?) async throws {
        let directory = try StoredDirectory(path: data.path)
        try data.checkAssetStorage()
        try StoresInFiles.check(data.path, remedy: "Give \(StoresInFiles.storageOption).")
        // An upload in progress has no row yet. So uploads are refused while files without a row are deleted.
        let lock = try removal.map { _ in try DataDirectory(path: data.path) }
        defer { lock?.close() }
        let objects = try await data.objects()
        defer { objects?.close() }
        var isWhole = true
        for id in try data.stores(in: directory) {
            do {
                isWhole =
                    try await verify(id, in: directory, data.files(of: id, in: directory, objects), removal) && isWhole
            } catch let error as StorageError {
                // The other stores may be whole.
                Console.print("\(id.text): \(error.code == .damaged ? "damaged" : "not verified"): \(error.message)\n")
                isWhole = false
            }
        }
        for id in try data.missingStores(in: directory) {
            Console.print("\(id.text): missing: restore it (nephos restore --container \(id.container))\n")
            isWhole = false
        }
        isWhole = try await tellStrayAccounts(directory.existingStores()) { try directory.snapshot($0) } && isWhole
        if !isWhole { throw Cloud.Failure(message: "not everything is whole.") }
    }

    /// - Returns: whether the store is whole.
    private static func verify(
        _ id: StoreID, in directory: StoredDirectory, _ files: any AssetStore, _ removal: Confirmation?
    ) async throws -> Bool {
        let hold = try await files.threads.run { try files.holdFiles() }
        let snapshot = try directory.snapshot(id)
        let broken = try await snapshot.integrityProblems()
        let findings = try await Findings.read(of: id, snapshot, files)
        withExtendedLifetime(hold) {}
        let isWhole = tell(findings, of: id, broken)
        list(findings.orphans, all: removal != nil)
        guard let removal else { return isWhole }
        if !broken.isEmpty || !findings.isComplete {
            Console.print("  no file is deleted: the database is damaged\n")
        } else {
            try await remove(findings.orphans, from: files, of: id, removal)
        }
        return isWhole
    }

    /// - Parameter all: whether every file is listed, as before a deletion.
    private static func list(_ orphans: [String], all: Bool) {
        if orphans.isEmpty { return }
        let named = orphans.prefix(all ? .max : 20)
        for name in named { Console.print("  file \(name) has no row\n") }
        if named.count < orphans.count { Console.print("  and \(orphans.count - named.count) more\n") }
        Console.print("  \(count(orphans)) without a row\n")
    }

    private static func remove(
        _ orphans: [String], from files: any AssetStore, of id: StoreID, _ confirmation: Confirmation
    ) async throws {
        if orphans.isEmpty { return Console.print("  no file without a row, nothing is deleted\n") }
        try await files.threads.run {
            try confirmation.ask("\(count(orphans)) of \(id.text), which no row names")
            for name in orphans { try files.remove(name) }
        }
        Console.print("  \(count(orphans)) deleted\n")
    }

    private static func count(_ files: [String]) -> String { files.count == 1 ? "1 file" : "\(files.count) files" }
}
