import NephosWire

/// `nephos import`: saves again what `nephos export` wrote.
struct ImportCommand {
    static let options = CloudAddress.options + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Import the records of an export.

        Usage: nephos import [OPTIONS] FILE

        The first line of FILE says to which container, environment, database and account
        the records go, and so does a line before those of each other database; options
        say otherwise. A record of the same name is replaced.
        FILE may be -, for standard input. 'nephos dev --import FILE' does it at the start.

        Options:
        \(CommandOption.help(options))

        """

    /// Runs to the end; the process's status says whether it could.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "import", wordLimit: 1)
        guard let path = arguments.words.first else {
            throw UsageError("nephos import needs a file, or - for standard input. See 'nephos import --help'.")
        }
        do {
            if path != "-" { try RecordImport.checkOptions(arguments, for: path) }
            let lines = try LineReader(path)
            let address = try address(try header(of: lines), arguments)
            try Cloud.run(on: address) { try RecordImport(lines, $0, arguments).run() }
        } catch let error as UsageError {
            throw error
        } catch let failure as Cloud.Failure {
            Console.fail(failure.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    /// Imports a file into the cloud of this process; `make` gives the one that its header names.
    static func run(_ path: String, on make: (CloudAddress) throws -> Cloud) throws {
        let lines = try LineReader(path)
        let arguments = try Arguments([], options: options, command: "import")
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

    /// Where the export comes from, except where an option says otherwise.
    fileprivate static func address(_ header: ExportHeader, _ arguments: Arguments) throws(UsageError) -> CloudAddress {
        var address = try CloudAddress(arguments)
        if !arguments.has("--container") { address.container = header.container }
        if !arguments.has("--environment") { address.environment = header.environment }
        if !arguments.has("--database") { address.database = header.database }
        if !arguments.has("--account"), !arguments.has("--token"), let account = header.account {
            address.token = "dev:\(account)"
        }
        guard address.database != "shared" else {
            throw UsageError("records are imported into the private or the public database.")
        }
        return address
    }
}

/// Saves the lines of an export, many in each request, database by database.
struct RecordImport {
    /// "The maximum number of operations in a request is 200" (CloudKit Web Services): also a strict server takes it.
    private static let operationsPerRequest = 200
    private static let bytesPerRequest = 1024 * 1024

    private let lines: LineReader
    private let arguments: Arguments
    /// The database that the lines go to.
    private var cloud: Cloud
    private var progress: Progress

    private struct Line {
        var number: Int
        var operation: RecordOperation
    }
    private var batch: [Line] = []
    private var batchSize = 0
    /// What refers to records that were not there yet.
    private var deferred: [Line] = []

    init(_ lines: LineReader, _ cloud: Cloud, _ arguments: Arguments) {
        self.lines = lines
        self.cloud = cloud
        self.arguments = arguments
        progress = Progress("imported", total: lines.size)
    }

    consuming func run() throws {
        while let line = try lines.next() {
            if line.starts(with: Self.headerStart) {
                try flush()
                try finish()
                try begin(line)
            } else if let zones = try? ModifyZonesRequest(decoding: line) {
                try flush()
                try make(zones)
            } else {
                try add(line)
            }
            progress.position = lines.position
        }
        try flush()
        try finish()
        progress.finish()
    }

    /// How a header begins, as `ExportHeader` writes it.
    private static let headerStart = Array(#"{"nephosExport""#.utf8)

    /// The options that say where the records of one database go.
    private static let placeOptions = ["--database", "--account", "--token"]

    /// Refuses them for an export of several databases, before anything is imported.
    static func checkOptions(_ arguments: Arguments, for path: String) throws {
        guard let option = placeOptions.first(where: arguments.has) else { return }
        let lines = try LineReader(path)
        _ = try lines.next()
        while let line = try lines.next() {
            guard line.starts(with: headerStart) else { continue }
            throw Cloud.Failure(
                message: "\(path):\(lines.line): another database begins here, and '\(option)' is for an export of one."
                    + " Nothing is imported.")
        }
    }

    /// Goes on with another database.
    private mutating func begin(_ line: [UInt8]) throws {
        do {
            let header = try ExportHeader(decoding: line)
            if let option = Self.placeOptions.first(where: arguments.has) {
                throw Cloud.Failure(
                    message:
                        "\(lines.path):\(lines.line): another database begins here, and '\(option)' is for an export of"
                        + " one. \(progress.count) records before it are imported.")
            }
            cloud = cloud.with(try ImportCommand.address(header, arguments))
        } catch let error as WireError {
            throw Cloud.Failure(message: "\(lines.path):\(lines.line): \(error)")
        }
    }

    private func make(_ zones: ModifyZonesRequest) throws {
        for case .failure(let error) in try cloud.request("zones/modify", zones, as: ZonesResponse.self).zones {
            throw failure(lines.line, error)
        }
    }

    private mutating func add(_ line: [UInt8]) throws {
        let request: ModifyRecordsRequest
        do {
            request = try ModifyRecordsRequest(decoding: line)
        } catch {
            throw Cloud.Failure(message: "\(lines.path):\(lines.line): \(error)")
        }
        for operation in request.operations {
            let isFull = batch.count == Self.operationsPerRequest || batchSize + line.count > Self.bytesPerRequest
            if isFull, !batch.isEmpty { try flush() }
            batch.append(Line(number: lines.line, operation: operation))
            batchSize += line.count
        }
    }

    private mutating func flush() throws {
        if batch.isEmpty { return }
        deferred += try save(batch)
        batch = []
        batchSize = 0
    }

    /// Saves what refers to records that came later; in cycles every record needs the others in its request.
    private mutating func finish() throws {
        while !deferred.isEmpty {
            var left: [Line] = []
            for start in stride(from: 0, to: deferred.count, by: Self.operationsPerRequest) {
                left += try save(Array(deferred[start..<min(start + Self.operationsPerRequest, deferred.count)]))
            }
            guard left.count < deferred.count else {
                throw Cloud.Failure(
                    message:
                        "\(lines.path):\(left[0].number): \(left.count) records refer to records that are in none of"
                        + " the lines and not in the database; the first is '\(left[0].operation.record.recordName ?? "")'."
                )
            }
            deferred = left
        }
    }

    /// - Returns: what refers to records that are not there.
    private mutating func save(_ lines: [Line]) throws -> [Line] {
        let request = ModifyRecordsRequest(operations: lines.map(\.operation), atomic: false)
        let results = try cloud.request("records/modify", request, as: RecordsResponse.self).records
        guard results.count == lines.count else { throw Cloud.Failure(message: "the answer lacks records") }
        var missing: [Line] = []
        for (line, result) in zip(lines, results) {
            guard case .failure(let error) = result else { continue }
            guard error.clientErrorCode == Self.referenceViolation else { throw failure(line.number, error) }
            missing.append(line)
        }
        progress.advance(by: lines.count - missing.count)
        return missing
    }

    /// The raw value of `CKError.Code.referenceViolation`.
    private static let referenceViolation = 31

    private func failure(_ line: Int, _ error: ErrorDictionary) -> Cloud.Failure {
        Cloud.Failure(
            message:
                "\(lines.path):\(line): \(error.reason) (\(error.serverErrorCode.rawValue)). \(progress.count) records"
                + " before it are imported.")
    }
}
