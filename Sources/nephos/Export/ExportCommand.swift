import Glibc
import NephosWire

/// `nephos export`: a database, or a zone of it, as a line for each record.
struct ExportCommand {
    static let options =
        [
            CommandOption("--zone", "NAME", "Export this zone alone. Default: all zones of the database"),
            CommandOption("--output", "FILE", "Write to FILE. Default: standard output"),
        ] + CloudAddress.options + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Export the records of a database, one to a line.

        Usage: nephos export [OPTIONS]

        Zones, and the records in each by type and name: the same records are always the
        same lines. A line holds what 'records/modify' takes, so that 'nephos import'
        saves it again. Files, shares and user records are not exported.

          nephos export --container iCloud.org.example.App --account me > me.jsonl
          nephos export --container iCloud.org.example.App --database public

        Options:
        \(CommandOption.help(options))

        """

    private var address: CloudAddress
    private var zone: String?
    private var output: String?
    private var account: String?

    /// Runs to the end; the process's status says whether it could.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try ExportCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let arguments = try Arguments(arguments, options: Self.options, command: "export")
        address = try CloudAddress(arguments)
        guard address.database != "shared" else {
            throw UsageError("the shared database holds what others own: export it from the owners' accounts.")
        }
        zone = arguments["--zone"]
        output = arguments["--output"]
        account = address.token.flatMap { $0.hasPrefix("dev:") ? String($0.dropFirst(4)) : nil }
    }

    // MARK: - Running

    private func run(on cloud: Cloud) throws {
        let file = try OutputFile(output)
        var progress = Progress("exported")
        var files = 0
        let header = ExportHeader(
            container: cloud.container, environment: address.environment, database: address.database,
            account: address.database == "private" ? account : nil)
        try file.write(header.encoded())
        let types = try cloud.recordTypes().filter { $0 != "Users" && !$0.hasPrefix("cloudkit.") }
        for zone in try zones(cloud) {
            if zone != ZoneIDDictionary.defaultZoneName {
                let make = ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: zone))
                try file.write(ModifyZonesRequest(operations: [make]).encoded())
            }
            for type in types {
                try records(of: type, in: zone, cloud) { record in
                    let encoded = try RecordLine.encode(record, in: zone)
                    try file.write(encoded.line)
                    files += encoded.files
                    progress.advance()
                }
            }
        }
        try file.close()
        progress.finish()
        if files > 0 { Console.note("\(files) fields hold files, which are not exported.") }
    }

    private func zones(_ cloud: Cloud) throws -> [String] {
        if let zone { return [zone] }
        if address.database == "public" { return [ZoneIDDictionary.defaultZoneName] }
        let zones = try cloud.read("zones/list", as: ZonesResponse.self).zones
        return zones.compactMap { result -> String? in
            guard case .zone(let zone) = result, !zone.deleted else { return nil }
            return zone.zoneID.zoneName
        }.sorted()
    }

    /// All records of a type in a zone, in the order of their names.
    private func records(
        of type: String, in zone: String, _ cloud: Cloud, _ take: (RecordDictionary) throws -> Void
    ) throws {
        let query = try Query(
            recordType: type, predicate: try PredicateTree(format: "TRUEPREDICATE", arguments: []), .cloudKit,
            sortBy: [])
        var request = QueryRecordsRequest(query: query)
        request.zoneID = ZoneIDDictionary(zoneName: zone)
        repeat {
            let page = try cloud.request("records/query", request, as: QueryRecordsResponse.self)
            for result in page.records {
                switch result {
                case .record(let record): try take(record)
                case .failure(let error):
                    throw Cloud.Failure(message: "\(error.reason) (\(error.serverErrorCode.rawValue))")
                case .deleted: break
                }
            }
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
    }
}

/// Where lines are written: a file, or standard output.
private final class OutputFile {
    private static let bufferSize = 64 * 1024

    private let path: String?
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ path: String?) throws {
        self.path = path
        descriptor = path.map { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) } ?? STDOUT_FILENO
        guard descriptor >= 0 else { throw failure }
        buffer.reserveCapacity(Self.bufferSize)
    }

    private var failure: Cloud.Failure {
        Cloud.Failure(message: "cannot write \(path ?? "standard output"): \(String(cString: strerror(errno)))")
    }

    func write(_ line: [UInt8]) throws {
        buffer += line
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws {
        try buffer.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw failure }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    func close() throws {
        try flush()
        if path != nil, Glibc.close(descriptor) != 0 { throw failure }
    }
}
