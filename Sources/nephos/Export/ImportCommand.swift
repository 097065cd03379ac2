import Glibc
import NephosWire

/// The command `nephos import`, which saves the records of an export by `nephos export`.
struct ImportCommand {
    static let options =
        [AssetFolder.option, RecordImport.skipOrphans] + CloudAddress.withoutSocket(CloudAddress.options)
        + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Import the records of an export.

        Usage: nephos import [OPTIONS] FILE

        The first line of FILE says to which container, environment, database and account
        the records go, and so does a line before those of each other database; options
        say otherwise. A record of the same name is replaced,
        except for its encrypted values and files that the export has no place for.
        Records that refer to each other may stand in any order.
        An account is the one of that name: in the data of a production server it has to
        exist, and its user record has another name than where the export was made. The
        records of a public database become those of '--account NAME', which such data
        need; a token signs in as its account, for an export of one database.
        FILE may be -, for standard input. 'nephos dev --import FILE' does it at the start.

        Options:
        \(CommandOption.help(options))

        """

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "import", wordLimit: 1)
        guard let path = arguments.words.first else {
            throw UsageError("nephos import needs a file, or - for standard input. See 'nephos import --help'.")
        }
        do {
            let isOfSeveral = try path != "-" && RecordImport.isOfSeveral(path, arguments)
            let lines = try LineReader(path)
            if let data = arguments["--data"], let user = try DataOwner.become(ofData: data),
                let assets = arguments[AssetFolder.option.name], access(assets, R_OK | X_OK) != 0
            {
                throw UsageError("the user \(user), to whom \(data) belongs, may not read \(assets).")
            }
            let address = try address(try header(of: lines), arguments, isOfSeveral: isOfSeveral)
            try Cloud.run(on: address) { try RecordImport(lines, $0, arguments, isOfSeveral: isOfSeveral).run() }
        } catch let error as UsageError {
            throw error
        } catch let failure as Cloud.Failure {
            Console.fail(failure.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    /// Imports a file into the service in this process.
    /// - Parameters:
    ///   - assets: the directory of the asset files; nil for none.
    ///   - make: returns the cloud for the address in a header of the export.
    static func run(_ path: String, assets: String?, on make: (CloudAddress) throws -> Cloud) throws {
        let lines = try LineReader(path)
        let given = assets.map { [AssetFolder.option.name, $0] } ?? []
        let arguments = try Arguments(given, options: options, command: "import")
        let address = try address(try header(of: lines), arguments)
        try RecordImport(lines, try make(address), arguments).run()
    }

    private static func header(of lines: LineReader) throws -> ExportHeader {
        do {
            return try ExportHeader(decoding: try lines.next() ?? [])
        } catch let error as WireError {
            throw Cloud.Failure(message: "\(lines.path):1: this is no export: \(error)")
        }
    }

    /// Returns the source of the export, with the values of options in place of its own.
    /// - Parameter isOfSeveral: whether the export is of several databases: `--account` is for the public ones alone then.
    static func address(
        _ header: ExportHeader, _ arguments: Arguments, isOfSeveral: Bool = false
    ) throws(UsageError) -> CloudAddress {
        var address = try CloudAddress(arguments)
        if !arguments.has("--container") { address.container = header.container }
        if !arguments.has("--environment") { address.environment = header.environment }
        if !arguments.has("--database") { address.database = header.database }
        let names = arguments.has("--account") && !(isOfSeveral && header.database == "private")
        if !names, !signsInByToken(arguments, address), let account = header.account {
            address.signIn(as: account)
        }
        guard address.database != "shared" else {
            throw UsageError("records are imported into the private or the public database.")
        }
        return address
    }

    /// Whether the account is that of a token, and not one that a header names. Only tokens of `nephos dev` name accounts.
    static func signsInByToken(_ arguments: Arguments, _ address: CloudAddress) -> Bool {
        arguments.has(ServerCredentials.tokenOption.name) || address.token != nil && address.localAccount == nil
    }
}
