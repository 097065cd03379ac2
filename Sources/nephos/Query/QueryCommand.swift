import NephosWire

/// The command `nephos query`, which finds records, counts them, or explains the plan of a query.
struct QueryCommand {
    static let options =
        [
            CommandOption("--explain", nil, "Say how the records are found instead of printing them."),
            CommandOption("--count", nil, "Print how many records match, and none of them."),
            CommandOption("--sort", "KEYS", "Sort by these fields, separated by commas; -stars sorts descending."),
            CommandOption("--zone", "NAME", "Search this zone. Default: all zones, or the only shared one"),
            CommandOption(
                "--owner", "NAME", "The owner of the zone, in the shared database: an account, or a user record's name."
            ),
            CommandOption("--limit", "N", "Stop after N records. Default: 200"),
            CommandOption("--keys", "KEYS", "Fetch these fields only, separated by commas."),
            CommandOption(
                "--argument", "KIND:VALUE",
                """
                The value of the predicate's next %@; the kind is string, int, double,
                date, reference or location: --argument reference:inbox
                """
            ).repeatable,
            CommandOption("--extended", nil, "Allow OR, and NOT of anything, as CloudKitExtras does."),
            CommandOption("--json", nil, "Print records as JSON, one to a line."),
        ] + CloudAddress.options + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Find records, count them, or explain how a query is answered.

        Usage: nephos query [OPTIONS] [TYPE [PREDICATE]]

        TYPE is a record type, PREDICATE what NSPredicate(format:) takes; without one
        every record of the type is found. Without a type the types are listed.

          nephos query --container iCloud.org.example.App Note 'stars > 3' --sort -stars
          nephos query --data .nephos Note 'list == %@' --argument reference:inbox --explain

        Options:
        \(CommandOption.help(options))

        """

    private var address: CloudAddress
    /// The query; nil to list the record types instead.
    private var request: QueryRecordsRequest?
    /// The zone of the shared database to search; nil in the other databases.
    private var shared: SharedZoneChoice?
    private var limit = 200
    private var printsJSON: Bool

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try QueryCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let arguments = try Arguments(arguments, options: Self.options, command: "query", wordLimit: 2)
        address = try CloudAddress(arguments)
        printsJSON = arguments.has("--json")
        guard let recordType = arguments.words.first else { return }
        var request = QueryRecordsRequest(query: try Self.query(recordType, arguments))
        request.wantsCount = arguments.has("--count")
        request.wantsExplanation = arguments.has("--explain")
        request.desiredKeys = arguments["--keys"].map { $0.split(separator: ",").map(String.init) }
        if request.wantsExplanation { request.desiredKeys = [] }
        if address.database == "shared" {
            shared = SharedZoneChoice(zone: arguments["--zone"], owner: arguments["--owner"])
        } else if arguments.has("--owner") {
            throw UsageError("'--owner' is for the shared database: add '--database shared'.")
        } else if let zone = arguments["--zone"] {
            request.zoneID = ZoneIDDictionary(zoneName: zone)
        }
        request.zoneWide = request.zoneID == nil && address.database == "private"
        if let text = arguments["--limit"] {
            guard let limit = Int(text), limit > 0 else {
                throw UsageError("'\(text)' is no number of records: '--limit' takes 1 or more.")
            }
            self.limit = limit
        }
        self.request = request
    }

    private static func query(_ recordType: String, _ arguments: Arguments) throws(UsageError) -> Query {
        var values: [PredicateValue] = []
        for text in arguments.all("--argument") { values.append(try PredicateArgument.parse(text)) }
        do {
            let text = arguments.words.count > 1 ? arguments.words[1] : "TRUEPREDICATE"
            let predicate = try PredicateTree(format: text, arguments: values)
            let sort = try (arguments["--sort"] ?? "").split(separator: ",").map { key in
                let name = key.hasPrefix("-") ? key.dropFirst() : key
                return QuerySortDescriptor(try QueryKey(predicateKey: String(name)), ascending: !key.hasPrefix("-"))
            }
            return try Query(
                recordType: recordType, predicate: predicate, arguments.has("--extended") ? .extended : .cloudKit,
                sortBy: sort)
        } catch let error as PredicateFormatError {
            throw UsageError("\(error).")
        } catch let refusal as PredicateRefusal {
            throw UsageError("\(refusal)")
        } catch {
            throw UsageError("\(error)")
        }
    }

    // MARK: - Running

    private func run(on cloud: Cloud) throws {
        guard var request else {
            try cloud.checkContainerExists()
            return Console.print(try cloud.recordTypes().map { "\($0)\n" }.joined())
        }
        try cloud.checkExists()
        if let shared { request.zoneID = try shared.zoneID(in: cloud) }
        var (found, counted) = (0, 0)
        repeat {
            request.resultsLimit = min(limit - found, 200)
            let page = try cloud.request("records/query", request, as: QueryRecordsResponse.self)
            request.continuationMarker = page.continuationMarker
            if let explanation = page.explanation {
                found += explanation.recordsReturned
                Console.print(explanation.lines(hasMore: page.continuationMarker != nil).joined(separator: "\n") + "\n")
            } else {
                found += page.records.count
            }
            counted += page.count ?? 0
            if !request.wantsExplanation { try page.records.forEach(print) }
        } while request.continuationMarker != nil && (request.wantsCount || found < limit)
        if request.wantsCount { return Console.print("\(counted)\n") }
        if request.continuationMarker != nil && !request.wantsExplanation {
            Console.note("there are more: --limit N finds N records.")
        }
    }

    private func print(_ result: RecordResult) throws {
        switch result {
        case .record(let record):
            if printsJSON {
                var writer = JSONWriter(reserving: record.fields.bytes.count + 512)
                record.write(to: &writer)
                Console.data(String(decoding: TerminalSafe.json(writer.finish()), as: UTF8.self) + "\n")
            } else {
                Console.print(RecordText.lines(record).joined(separator: "\n") + "\n")
            }
        case .failure(let error): throw Cloud.Failure(message: "\(error.reason) (\(error.serverErrorCode.rawValue))")
        case .deleted: break
        }
    }
}
