import NephosWire

/// `nephos share`: which records and zones accounts share, and with whom.
struct ShareCommand {
    static let options =
        [CommandOption("--account", "NAME", "Only what this account shares.")] + CloudAddress.containerOptions
        + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        See what accounts share, and with whom.

        Usage: nephos share list [OPTIONS]

          list  Print each share: its owner, zone and root, the path of its URL, what
                it allows everybody, and its participants. Who has the URL of a public
                share, or of one they are invited to, can join it.

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        guard arguments.first == "list" else {
            throw UsageError(
                (arguments.first.map { "unknown share command '\($0)'." } ?? "no share command given.")
                    + " See 'nephos share --help'.")
        }
        let arguments = try Arguments(Array(arguments.dropFirst()), options: options, command: "share", wordLimit: 0)
        let address = try CloudAddress(arguments)
        let request = ListSharesRequest(account: arguments["--account"])
        try Cloud.run(on: address) { cloud in
            let answer = try cloud.administer("shares/list", request, as: AccountSharesResponse.self)
            if answer.shares.isEmpty { Console.print("no shares\n") }
            for share in answer.shares { Console.print(text(share)) }
        }
    }

    private static func text(_ share: AccountShare) -> String {
        let what = share.rootRecordName.map { "record '\($0)'" } ?? "the whole zone"
        var lines = [
            "\(share.account)  \(share.zoneName)  \(what)  share '\(share.recordName)'  /share/\(share.shortGUID)"
                + "  public \(share.publicPermission)"
        ]
        lines += share.participants.map { "    \($0.name)  \($0.role)  \($0.permission)  \($0.status)" }
        return lines.joined(separator: "\n") + "\n"
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
            Console.print(answer.lines.map { $0 + "\n" }.joined())
        }
    }
}
