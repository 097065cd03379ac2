import NephosObjectStorage
import NephosSQLite
import NephosService
import NephosStorage

/// `nephos verify`: whether stores are whole.
struct VerifyCommand {
    static let options =
        StoredData.options + [
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
        StoredData.run { try await run(data, removes: removes) }
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
            Console.print(
                "\(id.text): \(findings.records) records, \(findings.files) files with \(findings.bytes) bytes\n")
            for problem in broken + findings.problems { Console.print("  \(problem)\n") }
            let unlisted = findings.problemCount - findings.problems.count
            if unlisted > 0 { Console.print("  and \(unlisted) more\n") }
            if findings.problemCount > 0 || !broken.isEmpty { isWhole = false }
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
