import NephosWire

/// `nephos share`: which records and zones accounts share, and with whom; and the acceptance of a share.
struct ShareCommand {
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
          accept  Have an account take part in the share of a URL.

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "list": try list(try Arguments(rest, options: options, command: "share", wordLimit: 0))
        case "accept": try accept(try Arguments(rest, options: options, command: "share", wordLimit: 1))
        case let other:
            throw UsageError(
                (other.map { "unknown share command '\($0)'." } ?? "no share command given.")
                    + " See 'nephos share --help'.")
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
        guard let guid = arguments.words.first.flatMap(shortGUID) else {
            throw UsageError("name the URL of a share. See 'nephos share --help'.")
        }
        var address = try CloudAddress(arguments)
        address.database = "public"
        try Cloud.run(on: address) { cloud in
            let request = ShortGUIDsRequest(shortGUIDs: [.init(value: guid)])
            // The URL does not say the container.
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
