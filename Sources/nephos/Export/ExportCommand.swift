import NephosWire

/// The command `nephos export`, which writes databases, or one zone, with one line per record.
struct ExportCommand {
    static let options =
        [
            CommandOption("--zone", "NAME", "Export this zone alone. Default: all zones of the database"),
            CommandOption(
                "--type", "NAME",
                """
                Export this record type; may be given several times. Default: those of
                the schema, which a running production server shows to a role alone.
                """
            ).repeatable,
            CommandOption(
                "--all", nil,
                """
                Export the container: the public database and every account's
                private one, in both environments or the one that is named.
                """),
            CommandOption("--output", "FILE", "Write to FILE. Default: standard output"),
            AssetFolder.option,
        ]
        + CloudAddress.withoutSocket(CloudAddress.options).map { option in
            if option.name != "--account" { return option }
            return CommandOption(
                option.name, option.value, option.help + "\nSeveral are exported one after the other."
            ).repeatable
        } + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Export the records of databases, one to a line.

        Usage: nephos export [OPTIONS]

        Zones, and the records in each by type and name: the same records are always the
        same lines. A line holds what 'records/modify' takes, so that 'nephos import'
        saves it again. Encrypted values, shares and user records are not exported.
        Files of assets go into a directory beside, each called by the hash of its
        content, which its field names; those that the app has sealed are left out.

          nephos export --container iCloud.org.example.App --account me > me.jsonl
          nephos export --container iCloud.org.example.App --database public
          nephos export --container iCloud.org.example.App --all --output app.jsonl --assets app

        Options:
        \(CommandOption.help(options))

        """

    private var address: CloudAddress
    private var zone: String?
    /// The record types to export; empty for those of the schema.
    private var types: [String]
    private var output: String?
    private var assets: String?
    /// The names of the accounts whose databases are exported.
    private var accounts: [String]
    private var isAll: Bool
    /// The names of the environments that `--all` exports.
    private var environments: [String]

    /// Runs the command to completion. The exit status reports success or failure.
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
        types = arguments.all("--type")
        output = arguments["--output"]
        assets = arguments[AssetFolder.option.name]
        accounts = arguments.all("--account")
        isAll = arguments.has("--all")
        environments = arguments.has("--environment") ? [address.environment] : ["development", "production"]
        if isAll, let other = ["--zone", "--account", "--database"].first(where: arguments.has) {
            throw UsageError("'--all' exports every database: '\(other)' cannot be given with it.")
        }
        if accounts.count > 1, address.database == "public" {
            throw UsageError("the public database is every account's: name one account at most.")
        }
    }

    // MARK: - Running

    private func run(on cloud: Cloud) throws {
        let databases = try databases(cloud)
        // A missing database fails here, before an earlier export is overwritten.
        for address in databases { try cloud.with(address).checkExists() }
        let folder = try assets.map(AssetFolder.init(making:))
        let writer = ExportWriter(try OutputFile(output), folder)
        for address in databases { try export(address, cloud.with(address), writer) }
        try writer.finish()
    }

    /// Returns the databases to export, in an order that depends only on their names.
    private func databases(_ cloud: Cloud) throws -> [CloudAddress] {
        if !isAll {
            return accounts.count < 2 ? [address] : Set(accounts).sorted().map { privateDatabase(of: $0, address) }
        }
        var databases: [CloudAddress] = []
        var missing: Cloud.Failure?
        for environment in environments {
            var database = address
            database.environment = environment
            let names: [String]
            do {
                names = try cloud.with(database).accountNames()
            } catch let failure as Cloud.Failure where failure.isMissingContainer {
                missing = failure
                continue
            }
            // Reading the public database needs no account. With an account, the request would create that account.
            (database.database, database.token) = ("public", nil)
            databases.append(database)
            databases += names.sorted().map { privateDatabase(of: $0, database) }
        }
        if databases.isEmpty, let missing { throw missing }
        return databases
    }

    private func privateDatabase(of account: String, _ address: CloudAddress) -> CloudAddress {
        var address = address
        address.database = "private"
        address.signIn(as: account)
        return address
    }

    private func export(_ address: CloudAddress, _ cloud: Cloud, _ writer: ExportWriter) throws {
        let header = ExportHeader(
            container: cloud.container, environment: address.environment, database: address.database,
            account: address.databaseAccount)
        try writer.begin(header, isKeptEmpty: !isAll)
        let known = types.isEmpty ? try cloud.recordTypes() : Set(types).sorted()
        let types = known.filter { $0 != "Users" && !$0.hasPrefix("cloudkit.") }
        for zone in try zones(address, cloud) {
            let name = zone.zoneID.zoneName
            if name != ZoneIDDictionary.defaultZoneName {
                let make = ZoneOperation(
                    operationType: .create, zoneID: ZoneIDDictionary(zoneName: name),
                    encryptionScope: zone.encryptionScope)
                try writer.write(ModifyZonesRequest(operations: [make]).encoded())
            }
            for type in types {
                try records(of: type, in: name, cloud) { try writer.write($0, in: name, of: cloud) }
            }
        }
    }

    private func zones(_ address: CloudAddress, _ cloud: Cloud) throws -> [ZoneDictionary] {
        if address.database == "public" {
            return [ZoneDictionary(zoneID: ZoneIDDictionary(zoneName: zone ?? Self.defaultZone), atomic: false)]
        }
        let zones = try cloud.read("zones/list", as: ZonesResponse.self).zones
            .compactMap { result -> ZoneDictionary? in
                guard case .zone(let zone) = result, !zone.deleted else { return nil }
                return zone
            }.sorted { $0.zoneID.zoneName < $1.zoneID.zoneName }
        guard let zone else { return zones }
        // With a missing zone, reading the zone's records fails and reports it.
        let missing = ZoneDictionary(zoneID: ZoneIDDictionary(zoneName: zone), atomic: true)
        return [zones.first { $0.zoneID.zoneName == zone } ?? missing]
    }

    private static let defaultZone = ZoneIDDictionary.defaultZoneName

    /// Reads all records of one type in a zone, ordered by name.
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
