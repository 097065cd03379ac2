import NephosWire

/// The command `nephos zones`. It lists the zones of accounts, and changes them as the account's user could, without
/// the app.
struct ZonesCommand {
    enum Action: String, CaseIterable {
        case list, remove
        case resetEncryption = "reset-encryption"

        /// The reason with which the action deletes zones; nil if it deletes none.
        var reason: ZoneDeletionReason? {
            switch self {
            case .list: nil
            case .remove: .purged
            case .resetEncryption: .encryptedDataReset
            }
        }
    }

    static let options =
        [
            CommandOption("--account", "NAME", "The account. list without one shows every account's zones."),
            CommandOption("--all", nil, "Every custom zone of the account."),
            Confirmation.option,
        ] + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        See the custom zones of accounts, and take them away as their user can.

        Usage: nephos zones list              [OPTIONS]
               nephos zones remove            [OPTIONS] --account NAME ZONE... | --all
               nephos zones reset-encryption  [OPTIONS] --account NAME ZONE... | --all

          list              Print the account and the name of each zone.
          remove            Delete zones and their records as someone does who removes
                            the app's data in the settings of iCloud: devices are told
                            that they were purged.
          reset-encryption  The same as someone who resets what is encrypted end to end:
                            devices are told so, and may save their records again.

        Options:
        \(CommandOption.help(options))

        """

    private var action: Action
    private var address: CloudAddress
    private var account: String?
    /// The names of the zones; nil for all zones.
    private var zones: [String]?
    private var confirmation: Confirmation

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try ZonesCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let seeHelp = "See 'nephos zones --help'."
        let (action, rest) = try Subcommand.parse(arguments, of: "zones", as: Action.self)
        self.action = action
        let arguments = try Arguments(
            rest, options: Self.options, command: "zones",
            wordLimit: action.reason == nil ? 0 : .max)
        address = try CloudAddress(arguments, accountSignsIn: false)
        account = arguments["--account"]
        confirmation = Confirmation(arguments)
        if action.reason == nil {
            if arguments.has("--all") { throw UsageError("list shows all zones anyway. \(seeHelp)") }
            return
        }
        guard account != nil else { throw UsageError("whose zones? Name the account with '--account NAME'.") }
        guard arguments.words.isEmpty == arguments.has("--all") else {
            throw UsageError("which zones? Name them, or give '--all'. \(seeHelp)")
        }
        zones = arguments.has("--all") ? nil : arguments.words
    }

    private func run(on cloud: Cloud) throws {
        if let reason = action.reason {
            let account = account ?? ""
            let stored = try cloud.stored(account)
            let named = zones.map { $0.map { "'\($0)'" }.joined(separator: ", ") }
            try confirmation.ask(
                (named.map { zones?.count == 1 ? "the zone \($0)" : "the zones \($0)" } ?? "all custom zones")
                    + " of '\(account)', with their records")
            let request = RemoveZonesRequest(account: stored, zones: zones, reason: reason)
            let removed = try cloud.administer("zones/remove", request, as: AccountZonesResponse.self)
            if removed.zones.isEmpty { Console.print("no zones to remove\n") }
            for zone in removed.zones { Console.print("zone '\(zone.zoneName)' removed\n") }
            return
        }
        var request = ListAccountZonesRequest(account: try account.map(cloud.stored))
        repeat {
            let page = try cloud.administer("zones/list", request, as: AccountZonesResponse.self)
            Console.print(try page.zones.map { "\(try cloud.shown($0.account))  \($0.zoneName)\n" }.joined())
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
    }
}
