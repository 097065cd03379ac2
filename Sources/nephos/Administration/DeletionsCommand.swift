import NephosWire

/// The command `nephos deletions`, about the tombstones that change feeds keep.
struct DeletionsCommand {
    enum Action: String, CaseIterable {
        case forget
    }

    static let options =
        [CommandOption("--older-than", "TIME", "How long ago: a number and s, m, h, d or w, such as 30d.")]
        + [Confirmation.option] + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

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
    private var confirmation: Confirmation

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try DeletionsCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let (_, rest) = try Subcommand.parse(arguments, of: "deletions", as: Action.self)
        let arguments = try Arguments(rest, options: Self.options, command: "deletions")
        address = try CloudAddress(arguments)
        guard let text = arguments["--older-than"] else {
            throw UsageError("which deletions? Give '--older-than TIME', for example --older-than 30d.")
        }
        olderThan = try DurationArgument.parse(text, option: "--older-than")
        confirmation = Confirmation(arguments)
    }

    private func run(on cloud: Cloud) throws {
        try confirmation.ask("what the change feeds of \(cloud.container) remember of older deletions")
        let forgotten = try cloud.administer(
            "deletions/forget", ForgetDeletionsRequest(olderThan: olderThan), as: ForgetDeletionsResponse.self)
        Console.print("deletions forgotten: \(forgotten.records) records, \(forgotten.zones) zones\n")
    }
}
