import NephosWire

/// The command `nephos roles`, about the roles of accounts. A schema defines the roles.
struct RolesCommand {
    enum Action: String, CaseIterable {
        case list, assign, revoke
    }

    static let options =
        [CommandOption("--account", "NAME", "The account. list without one shows every account's roles.")]
        + CloudAddress.containerOptions + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Give accounts the roles that the schema makes with CREATE ROLE.

        Usage: nephos roles list    [OPTIONS]
               nephos roles assign  [OPTIONS] --account NAME ROLE
               nephos roles revoke  [OPTIONS] --account NAME ROLE

        In the public database an account may do what the grants of a record type allow
        to a role that it has. list prints the account and the role.

        Options:
        \(CommandOption.help(options))

        """

    private var action: Action
    private var address: CloudAddress
    private var account: String?
    private var role = ""

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try RolesCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let seeHelp = "See 'nephos roles --help'."
        let (action, rest) = try Subcommand.parse(arguments, of: "roles", as: Action.self)
        self.action = action
        let arguments = try Arguments(
            rest, options: Self.options, command: "roles", wordLimit: action == .list ? 0 : 1)
        address = try CloudAddress(arguments, accountSignsIn: false)
        account = arguments["--account"]
        if action == .list { return }
        guard account != nil else { throw UsageError("whose role? Name the account with '--account NAME'.") }
        guard let role = arguments.words.first else { throw UsageError("which role? \(seeHelp)") }
        self.role = role
    }

    private func run(on cloud: Cloud) throws {
        let members: [RoleRequest]
        switch action {
        case .list:
            let request = ListRolesRequest(account: try account.map(cloud.stored))
            members = try cloud.administer("roles/list", request, as: RolesResponse.self).members
        case .assign, .revoke:
            let request = RoleRequest(account: try cloud.stored(account ?? ""), role: role)
            members = try cloud.administer("roles/\(action.rawValue)", request, as: RolesResponse.self).members
        }
        Console.print(try cloud.shown(members.map { "\($0.account)  \($0.role)\n" }.joined()))
    }
}
