import NephosSQLite
import NephosService
import NephosStorage
import NephosWire

/// The command `nephos share`, about shared records and zones and their participants. It also accepts shares.
struct ShareCommand {
    enum Action: String, CaseIterable {
        case list, accept
    }

    static let options =
        [
            CommandOption("--account", "NAME", "list: only what this account shares. accept: who accepts.")
        ] + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        See what accounts share, and with whom; accept what is shared.

        Usage: nephos share list [OPTIONS]
               nephos share accept URL [--account NAME] [OPTIONS]

          list    Print each share: its owner, zone and root, the path of its URL, what
                  it allows everybody, and its participants. Who has the URL of a public
                  share, or of one they are invited to, can join it.
          accept  Have an account take part in the share of a URL, which says the server,
                  the container and the environment, and has after # the key of what is
                  encrypted: put the URL in quotes, whole. With - it is asked for, or read
                  from standard input, as other processes see arguments.

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let (action, rest) = try Subcommand.parse(arguments, of: "share", as: Action.self)
        let arguments = try Arguments(rest, options: options, command: "share", wordLimit: action == .list ? 0 : 1)
        switch action {
        case .list: try list(arguments)
        case .accept: try accept(arguments)
        }
    }

    private static func list(_ arguments: Arguments) throws(UsageError) {
        let address = try CloudAddress(arguments, accountSignsIn: false)
        try Cloud.run(on: address) { cloud in
            let request = ListSharesRequest(account: try arguments["--account"].map(cloud.stored))
            let answer = try cloud.administer("shares/list", request, as: AccountSharesResponse.self)
            if answer.shares.isEmpty { Console.print("no shares\n") }
            for share in answer.shares { Console.print(try text(share, cloud)) }
        }
    }

    private static func accept(_ arguments: Arguments) throws(UsageError) {
        guard let word = arguments.words.first else {
            throw UsageError("name the URL of a share, or - to be asked for it. See 'nephos share --help'.")
        }
        let url = word == "-" ? try SecretInput.read("URL") : word
        guard let guid = shortGUID(url) else {
            throw UsageError("'\(url)' is not the URL of a share. See 'nephos share --help'.")
        }
        var address = try CloudAddress(arguments)
        if !arguments.has("--url"), !arguments.has("--data"), let server = server(url) {
            address.place = .server(server)
        }
        try locate(guid, &address, arguments)
        address.database = "public"
        try Cloud.run(on: address) { cloud in
            let request = ShortGUIDsRequest(shortGUIDs: [.init(value: guid)])
            // The container that the user named may not be the container of the share.
            let found = try info(cloud.request("records/resolve", request, as: RecordInfosResponse.self))
            let joined = try info(
                cloud.request("records/accept", request, in: found.containerIdentifier, as: RecordInfosResponse.self))
            Console.print(
                "accepted: zone \(joined.zoneID.zoneName) of \(joined.zoneID.ownerRecordName ?? "") in"
                    + " \(joined.containerIdentifier), \(joined.participantPermission.rawValue)\n")
            if let fragment = fragment(url) { try takeKey(of: joined, fragment, cloud.address) }
        }
    }

    private static func info(_ response: RecordInfosResponse) throws -> RecordInfo {
        switch response.results.first {
        case .info(let info): return info
        case .failure(let error): throw Cloud.Failure(message: error.reason)
        case nil: throw Cloud.Failure(message: "the service answers nothing")
        }
    }

    /// Returns the server of a share's URL; nil if the text is only a short GUID.
    private static func server(_ url: String) -> ServerAddress? {
        guard let path = url.firstRange(of: "/share/") else { return nil }
        return try? ServerAddress(String(url[..<path.lowerBound]))
    }

    /// Sets the container and environment of an address to those of the share.
    /// - Throws: `UsageError` if options name a different container or environment, or if neither the options nor the
    ///   share determine them.
    private static func locate(
        _ guid: String, _ address: inout CloudAddress, _ arguments: Arguments
    ) throws(UsageError) {
        guard let found = try stores(of: guid, at: address) else {
            if address.container != nil { return }
            throw UsageError("which container is the share in? Name it with '--container ID'.")
        }
        let named = (container: arguments["--container"], environment: arguments["--environment"])
        let store = found.first { store in
            store.container == named.container ?? store.container
                && store.environment == named.environment ?? store.environment
        }
        guard let store else {
            guard let other = found.first else {
                throw UsageError("\(address.place) has no container that the URL is of.")
            }
            throw UsageError(
                "the URL is of a share in \(other.container), \(other.environment): name no other container or environment."
            )
        }
        (address.container, address.environment) = (store.container, store.environment)
    }

    /// Returns the stores that may contain a share, by the routing key in its URL; nil if the stores at this place
    /// cannot be listed.
    private static func stores(of guid: String, at address: CloudAddress) throws(UsageError) -> [StoreID]? {
        let known: [StoreID]
        var isComplete = true
        switch address.place {
        case .socket: return nil
        case .dataDirectory(let path):
            // A missing directory fails later, in `Cloud`.
            guard let stores = try? StoredDirectory(path: path).existingStores() else { return nil }
            known = stores
        case .server(let server):
            do throws(ServerConnection.Failure) {
                let (status, body) = try ServerConnection(address: server, address.credentials).get("/status")
                guard status == 200, let overview = try? ServiceOverview(decoding: body) else { return nil }
                known = overview.containers.map { StoreID(container: $0.container, environment: $0.environment) }
                isComplete = overview.isComplete
            } catch {
                Console.fail(error.description)
            }
        }
        let found = known.filter { guid.hasPrefix(ShortGUID.routingKey($0.container, $0.environment)) }
        return found.isEmpty && !isComplete ? nil : found
    }

    /// Returns the last component of a URL, without its title; nil if there is none.
    private static func shortGUID(_ url: String) -> String? {
        let path = url.prefix { $0 != "#" && $0 != "?" }
        return path.split(separator: "/").last.map(String.init)
    }

    /// Returns the fragment of a URL, which is the key for encrypted values or a title; nil without a fragment.
    private static func fragment(_ url: String) -> String? {
        url.firstIndex(of: "#").map { String(url[url.index(after: $0)...]) }
    }

    private static func text(_ share: AccountShare, _ cloud: Cloud) throws -> String {
        let what = share.rootRecordName.map { "record '\($0)'" } ?? "the whole zone"
        var lines = [
            "\(try cloud.shown(share.account))  \(share.zoneName)  \(what)  share '\(share.recordName)'"
                + (share.shortGUID.isEmpty ? "" : "  /share/\(share.shortGUID)") + "  public \(share.publicPermission)"
        ]
        lines += try share.participants.map {
            "    \($0.name.isEmpty ? "invited" : try cloud.shown($0.name))  \($0.role)  \($0.permission)  \($0.status)"
        }
        return lines.map(Console.printable).joined(separator: "\n") + "\n"
    }
}

/// The command `nephos why`, which explains the permissions of an account on a record.
struct WhyCommand {
    static let options =
        [
            CommandOption("--owner", "NAME", "Whose private database has the record."),
            CommandOption("--zone", "NAME", "The record's zone."),
        ] + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Say what an account may do with a record of a private database, and why.

        Usage: nephos why ACCOUNT RECORD --owner NAME --zone NAME [OPTIONS]

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "why", wordLimit: 2)
        guard arguments.words.count == 2, let owner = arguments["--owner"], let zone = arguments["--zone"] else {
            throw UsageError("name an account, a record, its --owner and its --zone. See 'nephos why --help'.")
        }
        try Cloud.run(on: try CloudAddress(arguments)) { cloud in
            let request = ExplainAccessRequest(
                account: try cloud.stored(arguments.words[0]), owner: try cloud.stored(owner), zoneName: zone,
                recordName: arguments.words[1])
            let answer = try cloud.administer("access/explain", request, as: ExplainAccessResponse.self)
            Console.print(try answer.lines.map { Console.printable(try cloud.shown($0)) + "\n" }.joined())
        }
    }
}
