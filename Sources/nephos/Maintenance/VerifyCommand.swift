import NephosObjectStorage
import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage

/// `nephos verify`: whether stores are whole.
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
            CommandOption("--remove-orphans", nil, "Delete the files that no row names. No server may run."),
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        Check that stores are whole: the database, every record, every file.

        Usage: nephos verify [OPTIONS]

        Reads all records and all files of assets, and says what is damaged, missing or
        not needed. A server may run meanwhile. The status is 1 where something is wrong.

        A file that no row names harms nobody. Files that are uploaded while it runs count
        as such, and so do those of another store in the same place: delete them only where
        you know what they are.

        \(ObjectStorageArguments.note)

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "verify")
        let data = try StoredData(arguments)
        let removes = arguments.has("--remove-orphans")
        guard let text = arguments["--storage"] else {
            return StoredData.run { try await run(data, removes: removes) }
        }
        if removes { throw UsageError("'--remove-orphans' and '--storage' exclude each other.") }
        let address = try StorageAddress.parse(text, option: "--storage")
        let options = PostgresOptions(connections: 2, acceptsUnsafeServer: arguments.has("--accept-unsafe-storage"))
        StoredData.run { try await run(data, over: address, options) }
    }

    /// The same of stores in PostgreSQL. The database's own pages are for its tools.
    private static func run(_ data: StoredData, over address: PostgresAddress, _ options: PostgresOptions) async throws
    {
        let objects = try await data.objects()
        defer { objects?.close() }
        let stores = try PostgresStores(address, options: options, assets: data.path)
        defer { stores.close() }
        var isWhole = true
        for id in try data.chosen(of: try stores.existingStores(), in: "the database") {
            let files: any AssetStore =
                try objects.map { ObjectAssetStore($0, id, spool: ObjectStorageProvider.spool(data.path, id)) }
                ?? stores.assets(of: id)
            let engine = try stores.open(id)
            let findings = try await StoreVerification(engine, files).run()
            await engine.close()
            isWhole = tell(findings, of: id) && isWhole
            if !findings.orphans.isEmpty { try await tell(findings.orphans, in: files, removes: false) }
        }
        if !isWhole { throw Cloud.Failure(message: "not everything is whole.") }
    }

    /// - Returns: whether nothing is wrong.
    private static func tell(_ findings: StoreVerification.Findings, of id: StoreID, _ broken: [String] = []) -> Bool {
        Console.print("\(id.text): \(findings.records) records, \(findings.files) files with \(findings.bytes) bytes\n")
        for problem in broken + findings.problems { Console.print("  \(problem)\n") }
        let unlisted = findings.problemCount - findings.problems.count
        if unlisted > 0 { Console.print("  and \(unlisted) more\n") }
        return findings.problemCount == 0 && broken.isEmpty
    }

    private static func run(_ data: StoredData, removes: Bool) async throws {
        let directory = try StoredDirectory(path: data.path)
        // What is on its way has no row yet: uploads are refused while files without one go.
        let lock = removes ? try DataDirectory(path: data.path) : nil
        defer { lock?.close() }
        let objects = try await data.objects()
        defer { objects?.close() }
        var isWhole = true
        for id in try data.stores(in: directory) {
            let files = data.files(of: id, in: directory, objects)
            let hold = try await files.threads.run { try files.holdFiles() }
            let snapshot = try directory.snapshot(id)
            let broken = try await snapshot.integrityProblems()
            let findings = try await StoreVerification(snapshot, files).run()
            withExtendedLifetime(hold) {}
            isWhole = tell(findings, of: id, broken) && isWhole
            if !findings.orphans.isEmpty {
                try await tell(findings.orphans, in: files, removes: removes)
            }
        }
        if !isWhole { throw Cloud.Failure(message: "not everything is whole.") }
    }

    private static func tell(_ orphans: [String], in files: any AssetStore, removes: Bool) async throws {
        if removes { try await files.threads.run { for name in orphans { try files.remove(name) } } }
        for name in orphans.prefix(20) { Console.print("  file \(name) has no row\n") }
        Console.print("  \(orphans.count) files have no row\(removes ? ", and are deleted" : "")\n")
    }
}
