import NephosWire

/// `nephos deletions`: what feeds remember of what is gone.
struct DeletionsCommand {
    static let options =
        [CommandOption("--older-than", "TIME", "How long ago: a number and s, m, h, d or w, such as 30d.")]
        + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Forget deletions before their time is over.

        Usage: nephos deletions forget [OPTIONS] --older-than TIME

        Change feeds remember which records and zones were deleted, so that devices that
        were away hear of it. A device whose change token is older than a deletion that
        was forgotten gets changeTokenExpired, and has to fetch everything again.
        'nephos dev --deletion-retention TIME' forgets by itself.

        Options:
        \(CommandOption.help(options))

        """

    private var address: CloudAddress
    private var olderThan: Int64

    /// Runs to the end; the process's status says whether it could.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try DeletionsCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let seeHelp = "See 'nephos deletions --help'."
        guard let name = arguments.first else { throw UsageError("no deletions command given. \(seeHelp)") }
        guard name == "forget" else { throw UsageError("unknown deletions command '\(name)'. \(seeHelp)") }
        let arguments = try Arguments(Array(arguments.dropFirst()), options: Self.options, command: "deletions")
        address = try CloudAddress(arguments)
        guard let text = arguments["--older-than"] else {
            throw UsageError("which deletions? Give '--older-than TIME', for example --older-than 30d.")
        }
        olderThan = try DurationArgument.parse(text, option: "--older-than")
    }

    private func run(on cloud: Cloud) throws {
        let forgotten = try cloud.administer(
            "deletions/forget", ForgetDeletionsRequest(olderThan: olderThan), as: ForgetDeletionsResponse.self)
        Console.print("deletions forgotten: \(forgotten.records) records, \(forgotten.zones) zones\n")
    }
}
