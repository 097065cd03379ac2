import NephosService
import NephosWire

/// `nephos share`: which records and zones accounts share, and with whom; and the acceptance of a share.
struct ShareCommand {
    enum Action: String, CaseIterable {
        case list, accept
    }

    static let options =
        [
            CommandOption("--account", "NAME", "list: only what this account shares. accept: who accepts."),
            CommandOption("--token", "TOKEN", "accept: sign in with a web authentication token."),
        ] + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        See what accounts share, and with whom; accept what is shared.

        Usage: nephos share list [OPTIONS]
               nephos share accept URL [--account NAME] [OPTIONS]

          list    Print each share: its owner, zone and root, the path of its URL, what
                  it allows everybody, and its participants. Who has the URL of a public
                  share, or of one they are invited to, can join it.
          accept  Have an account take part in the share of a URL, which says the server
                  and, by what it ends in, the container.

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
        let address = try CloudAddress(arguments)
        let request = ListSharesRequest(account: arguments["--account"])
        try Cloud.run(on: address) { cloud in
            let answer = try cloud.administer("shares/list", request, as: AccountSharesResponse.self)
            if answer.shares.isEmpty { Console.print("no shares\n") }
            for share in answer.shares { Console.print(text(share)) }
        }
    }

    private static func accept(_ arguments: Arguments) throws(UsageError) {
        guard let url = arguments.words.first, let guid = shortGUID(url) else {
            throw UsageError("name the URL of a share. See 'nephos share --help'.")
        }
        var address = try CloudAddress(arguments)
        if !arguments.has("--url"), !arguments.has("--data"), let server = server(url) {
            address.place = .server(server)
        }
        if address.container == nil, case .server(let server) = address.place {
            let place = try container(of: guid, on: server, arguments["--environment"])
            (address.container, address.environment) = (place.container, place.environment)
        }
        address.database = "public"
        try Cloud.run(on: address) { cloud in
            let request = ShortGUIDsRequest(shortGUIDs: [.init(value: guid)])
            // The container that was named need not be the share's.
            let found = try info(cloud.request("records/resolve", request, as: RecordInfosResponse.self))
            let joined = try info(
                cloud.request("records/accept", request, in: found.containerIdentifier, as: RecordInfosResponse.self))
            Console.print(
                "accepted: zone \(joined.zoneID.zoneName) of \(joined.zoneID.ownerRecordName ?? "") in"
                    + " \(joined.containerIdentifier), \(joined.participantPermission.rawValue)\n")
        }
    }

    private static func info(_ response: RecordInfosResponse) throws -> RecordInfo {
        switch response.results.first {
        case .info(let info): return info
        case .failure(let error): throw Cloud.Failure(message: error.reason)
        case nil: throw Cloud.Failure(message: "the service answers nothing")
        }
    }

    /// The server of a share's URL; nil where there is only what it ends in.
    private static func server(_ url: String) -> ServerAddress? {
        guard let path = url.firstRange(of: "/share/") else { return nil }
        return try? ServerAddress(String(url[..<path.lowerBound]))
    }

    /// The container of a share, by the routing key in its URL.
    private static func container(
        of guid: String, on server: ServerAddress, _ environment: String?
    ) throws(UsageError) -> ServiceOverview.Container {
        do {
            let (status, body) = try ServerConnection(address: server).get("/status")
            let overview = status == 200 ? try? ServiceOverview(decoding: body) : nil
            let found = overview?.containers.first { container in
                guid.hasPrefix(ShortGUID.routingKey(container.container, container.environment))
                    && (environment == nil || container.environment == environment)
            }
            if let found { return found }
        } catch {
            Console.fail(error.description)
        }
        throw UsageError(
            "\(server) has no container that the URL is of, or does not say: name it with '--container ID'.")
    }

    /// What a URL ends in, without a title.
    private static func shortGUID(_ url: String) -> String? {
        let path = url.prefix { $0 != "#" && $0 != "?" }
        return path.split(separator: "/").last.map(String.init)
    }

    private static func text(_ share: AccountShare) -> String {
        let what = share.rootRecordName.map { "record '\($0)'" } ?? "the whole zone"
        var lines = [
            "\(share.account)  \(share.zoneName)  \(what)  share '\(share.recordName)'  /share/\(share.shortGUID)"
                + "  public \(share.publicPermission)"
        ]
        lines += share.participants.map { "    \($0.name)  \($0.role)  \($0.permission)  \($0.status)" }
        return lines.map(Console.printable).joined(separator: "\n") + "\n"
    }
}

/// `nephos why`: what an account may do with a record, and why.
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
        let request = ExplainAccessRequest(
            account: arguments.words[0], owner: owner, zoneName: zone, recordName: arguments.words[1])
        try Cloud.run(on: try CloudAddress(arguments)) { cloud in
            let answer = try cloud.administer("access/explain", request, as: ExplainAccessResponse.self)
            Console.print(answer.lines.map { Console.printable($0) + "\n" }.joined())
        }
    }
}
