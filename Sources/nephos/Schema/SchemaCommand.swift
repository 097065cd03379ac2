import FoundationEssentials
import Glibc
import NephosService
import NephosWire

/// The command `nephos schema`, with the schema operations of Apple's `cktool`. It works on a running server or in a
/// data directory.
struct SchemaCommand {
    enum Action: String, CaseIterable {
        case export, `import`, validate, drop, reset, deploy, preflight, sync, indexes

        /// Whether the action needs a schema file.
        var needsFile: Bool { [.import, .validate, .sync].contains(self) }

        /// The maximum number of words that follow the action.
        var wordCount: Int { needsFile || self == .preflight ? 1 : self == .drop ? 2 : 0 }
    }

    static let options = [
        CommandOption(
            "--url", "URL", "A running server. Default: NEPHOS_URL, or \(RemoteSchema.localURL)"),
        CommandOption(
            "--data", "DIR",
            """
            A data directory that no server uses, or that of a running
            'nephos serve'.
            """),
        RunningServer.socketOption,
        CommandOption(
            "--container", "ID",
            """
            The container. Default: NEPHOS_CONTAINER, or the only one of
            the directory.
            """),
        CommandOption(
            "--environment", "NAME",
            """
            development or production. Default: NEPHOS_ENVIRONMENT, or
            development. Only export and indexes look at production.
            """),
        ServerCredentials.tokenOption,
        CommandOption("--check", nil, "With sync: change nothing, and fail where something would change."),
        CommandOption("--output", "FILE", "Where export writes. Default: standard output"),
        Confirmation.option,
        CommandOption("--help", nil, "Show this help."),
    ]

    static let help = """
        Work with the schema of a container, in the CloudKit Schema Language.

        Usage: nephos schema export    [OPTIONS]
               nephos schema import    [OPTIONS] FILE
               nephos schema validate  [OPTIONS] FILE
               nephos schema drop      [OPTIONS] TYPE FIELD
               nephos schema reset     [OPTIONS]
               nephos schema deploy    [OPTIONS]
               nephos schema preflight [OPTIONS] [FILE]
               nephos schema sync      [OPTIONS] FILE
               nephos schema indexes   [OPTIONS]

          export    Print the schema.
          import    Make FILE the whole schema of development. What it leaves out is
                    dropped; refused where records would lose data.
          validate  Say what importing FILE would change, and change nothing. Where no
                    container and no server is named FILE is checked by itself.
          drop      Take a field away from a record type of development, and ERASE its
                    values in all records. The next save makes it anew, of any type.
          reset     Give development the schema of production, and erase ALL records
                    of development.
          deploy    Add the schema of development to that of production.
          preflight Say what production lacks of development, or FILE where it is
                    named, and what requests did that production or Apple's service
                    may refuse. 'nephos preflight' is the same.
          sync      Add to development what FILE has more, and to FILE what development
                    has more, as saves added it. FILE is made if it is missing.
          indexes   Show the indexes there are, and how far those are that are being
                    made or removed in the background.

        FILE may be -, for standard input.

        Options:
        \(CommandOption.help(options))

        Exit status: 0 if it is done, or the schema is valid; 1 if it was refused or
        failed; 2 if the command line cannot be understood.

        """

    var action: Action
    var url: String?
    var data: String?
    var socket: String?
    var credentials: ServerCredentials
    var container: String?
    var environment: ContainerEnvironment
    var file: String?
    /// The field that the action `drop` removes; nil for other actions.
    var dropped: DropFieldRequest?
    var output: String?
    /// Whether the action `sync` only checks.
    var isCheck: Bool
    var confirmation: Confirmation

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try SchemaCommand(arguments, variables: ProcessInfo.processInfo.environment)
        do {
            try command.run()
        } catch let failure as SchemaFailure {
            Console.fail(failure.message)
        } catch let error as UsageError {
            throw error
        } catch {
            Console.fail("\(error)")
        }
    }

    init(_ arguments: [String], variables: [String: String]) throws(UsageError) {
        let seeHelp = "See 'nephos schema --help'."
        let (action, rest) = try Subcommand.parse(arguments, of: "schema", as: Action.self)
        self.action = action
        let arguments = try Arguments(
            rest, options: Self.options, command: "schema", wordLimit: action.wordCount)
        url = arguments["--url"]
        data = arguments["--data"]
        socket = arguments["--socket"]
        credentials = try ServerCredentials(arguments)
        try RunningServer.checkIsOnePlace(arguments)
        container = arguments["--container"] ?? variables["NEPHOS_CONTAINER"].flatMap { $0.isEmpty ? nil : $0 }
        environment = try Self.environment(arguments, variables)
        if environment == .production, action == .sync || action == .preflight {
            throw UsageError("\(action.rawValue) is about development: '--environment production' cannot be given.")
        }
        output = arguments["--output"]
        if output != nil && action != .export { throw UsageError("'--output' belongs to export. \(seeHelp)") }
        isCheck = arguments.has("--check")
        if isCheck && action != .sync { throw UsageError("'--check' belongs to sync. \(seeHelp)") }
        confirmation = Confirmation(arguments)
        file = action == .drop ? nil : arguments.words.first
        if action == .drop {
            guard arguments.words.count == 2 else {
                throw UsageError("nephos schema drop needs a record type and a field. \(seeHelp)")
            }
            dropped = DropFieldRequest(recordType: arguments.words[0], field: arguments.words[1])
        }
        if action.needsFile && file == nil {
            throw UsageError("nephos schema \(action.rawValue) needs a file, or - for standard input. \(seeHelp)")
        }
        let namesServer = container != nil || arguments.has("--environment")
        if url == nil && data == nil && socket == nil && (action != .validate || namesServer) {
            url = variables["NEPHOS_URL"] ?? RemoteSchema.localURL
        }
        if url != nil && container == nil {
            throw UsageError("which container? Give --container ID, or set NEPHOS_CONTAINER.")
        }
    }

    private static func environment(
        _ arguments: Arguments, _ variables: [String: String]
    ) throws(UsageError) -> ContainerEnvironment {
        let name = arguments["--environment"] ?? variables["NEPHOS_ENVIRONMENT"] ?? "development"
        guard let environment = ContainerEnvironment(rawValue: name) else {
            throw UsageError("'\(name)' is no environment: it is development or production.")
        }
        return environment
    }

    // MARK: - Running

    private func run() throws {
        if action == .sync, let file { return try sync(file) }
        let text = try file.map(Self.read)
        guard let place = try place() else {
            return try finish(SchemaReport(SchemaCommands.validate(text ?? "")))
        }
        defer { place.close() }
        switch action {
        case .export: try write(try place.exportSchema())
        case .import: try finish(try place.importSchema(text ?? ""))
        case .validate: try finish(try place.validateSchema(text ?? ""))
        case .drop:
            guard let dropped else { return }
            try confirmation.ask(
                "the field '\(dropped.field)' of '\(dropped.recordType)' with its values in all records of development")
            try finish(try place.dropField(dropped))
        case .reset:
            try confirmation.ask("all records and zones of development in \(container ?? "the container")")
            try finish(try place.resetSchema())
        case .deploy: try finish(try place.deploySchema())
        case .preflight: try finish(try place.preflight(text))
        case .sync: break
        case .indexes: Console.print(Self.table(try place.schemaIndexes()))
        }
    }

    func place() throws -> (any SchemaPlace)? {
        if let url, let container {
            let server: ServerConnection
            do throws(UsageError) {
                server = ServerConnection(address: try ServerAddress(url), credentials)
            } catch {
                throw SchemaFailure(error.message)
            }
            return try RemoteSchema(server, container: container, environment: environment)
        }
        if let socket = servedSocket() {
            let container = try container ?? Cloud.onlyContainer(servedAt: socket)
            let server = ServerConnection(socket: socket, credentials)
            return try RemoteSchema(server, container: container, environment: environment)
        }
        guard let data else { return nil }
        if [.import, .drop, .reset, .deploy].contains(action) { try DataOwner.become(ofData: data) }
        if action == .sync, !isCheck { DataOwner.checkIsOwner(ofData: data, for: "schema sync") }
        return try DirectorySchema(
            data, container: container, environment: environment, mayMakeContainer: action == .import)
    }

    /// Returns the socket that is named, or at which a server with the data directory answers; nil for none.
    private func servedSocket() -> String? {
        if let socket {
            RunningServer.checkIsServed(socket, RunningServer.stoppedRemedy)
            return socket
        }
        let found = data.map(ServeCommand.socketPath)
        return found.flatMap { AdministeredInstallation.isServed($0) ? $0 : nil }
    }

    /// Prints the findings and the changes of a report.
    private func finish(_ report: SchemaReport) throws(SchemaFailure) {
        for finding in report.findings { Console.warn(line(finding)) }
        guard report.isAllowed else {
            switch action {
            case .validate: throw SchemaFailure("❌ Schema validation failed.")
            case .preflight where report.findings.contains { $0.line != nil }:
                throw SchemaFailure("the file breaks the rules of schemas.")
            case .preflight:
                throw SchemaFailure(
                    "production would refuse what needs these: 'nephos schema deploy' deploys them, and 'nephos schema"
                        + " sync' adds them to a file.")
            default: throw SchemaFailure("the \(action.rawValue) was refused; nothing is changed.")
            }
        }
        for change in report.changes { Console.print("\(change)\n") }
        switch action {
        case .validate: Console.print("✅ Schema is valid.\n")
        case .preflight: Console.print("production lacks nothing of the schema\n")
        case .reset: Console.print("all records of development erased\n")
        default: if report.changes.isEmpty { Console.print("nothing to change\n") }
        }
    }

    /// Returns a finding in the format of compilers, such as `app.ckdb:6:25: error: …`.
    func line(_ finding: SchemaReport.Finding) -> String {
        var place = file.map { $0 == "-" ? "<stdin>" : $0 } ?? "schema"
        if let line = finding.line, let column = finding.column { place += ":\(line):\(column)" }
        return "\(place): \(finding.isError ? "error" : "warning"): \(finding.message)"
    }

    private static func table(_ report: IndexesReport) -> String {
        if report.indexes.isEmpty { return "no indexes\n" }
        let names = report.indexes.map { index in
            let fields = index.state == .removing ? "(removed)" : index.fields.joined(separator: ", ")
            return "\(index.recordType)  \(fields.isEmpty ? "(all records)" : fields)"
        }
        let width = names.map(\.count).max() ?? 0
        return zip(names, report.indexes).map { name, index in
            let padding = String(repeating: " ", count: width - name.count)
            let progress = index.state == .ready ? "" : " \(Int((index.progress * 100).rounded(.down))) %"
            return "\(name)\(padding)  \(index.state.rawValue)\(progress)\n"
        }.joined()
    }

    // MARK: - Files

    static func read(_ path: String) throws(SchemaFailure) -> String {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SchemaFailure("cannot read \(path): \(String(cString: strerror(errno)))") }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw SchemaFailure("cannot read \(path): \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            bytes += buffer.prefix(count)
            if bytes.count > Limits.requestSize {
                throw SchemaFailure("\(path) is larger than \(Limits.requestSize) bytes: that is no schema.")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SchemaFailure("\(path) is not UTF-8 text.")
        }
        return text
    }

    private func write(_ text: String) throws(SchemaFailure) {
        guard let output else { return Console.data(text) }
        try Self.write(text, to: output)
    }

    static func write(_ text: String, to output: String) throws(SchemaFailure) {
        do {
            try Data(text.utf8).write(to: URL(filePath: output))
        } catch {
            throw SchemaFailure("cannot write \(output): \(String(cString: strerror(errno)))")
        }
    }
}

/// The reason why a schema command failed.
struct SchemaFailure: Error, Hashable {
    var message: String
    init(_ message: String) { self.message = message }
}

/// The place that contains a schema: a server or a data directory.
protocol SchemaPlace {
    func exportSchema() throws(SchemaFailure) -> String
    func importSchema(_ text: String) throws(SchemaFailure) -> SchemaReport
    func mergeSchema(_ text: String) throws(SchemaFailure) -> SchemaReport
    func validateSchema(_ text: String) throws(SchemaFailure) -> SchemaReport
    func dropField(_ request: DropFieldRequest) throws(SchemaFailure) -> SchemaReport
    func resetSchema() throws(SchemaFailure) -> SchemaReport
    func deploySchema() throws(SchemaFailure) -> SchemaReport
    /// - Parameter text: the schema to compare with; nil for that of production.
    func preflight(_ text: String?) throws(SchemaFailure) -> SchemaReport
    func schemaIndexes() throws(SchemaFailure) -> IndexesReport
    func close()
}
