import NephosWire

/// The command `nephos keys`, about the devices that have an account's keys for encrypted values.
struct KeysCommand {
    enum Action: String, CaseIterable {
        case list, code, approve, revoke, recovery, recover, compare, accept, reset

        var command: DeviceCommand.Action {
            switch self {
            case .list: .list
            case .code: .code
            case .approve: .approve
            case .revoke: .revoke
            case .recovery: .recovery
            case .recover: .recover
            case .compare: .compare
            case .accept: .accept
            case .reset: .reset
            }
        }

        /// The name of the secret that the action reads; nil if it reads none.
        var secret: String? {
            switch self {
            case .approve: "code"
            case .recover: "recovery key"
            default: nil
            }
        }
    }

    static let options =
        CloudAddress.withoutSocket(CloudAddress.options).filter { $0.name != "--data" && $0.name != "--database" }
        + [
            Confirmation.option,
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        Approve the devices that have an account's keys for encrypted values.

        Usage: nephos keys list     [OPTIONS]
               nephos keys code     [OPTIONS]
               nephos keys approve  [OPTIONS]
               nephos keys revoke   [OPTIONS] DEVICE
               nephos keys recovery [OPTIONS]
               nephos keys recover  [OPTIONS]
               nephos keys compare  [OPTIONS] [ACCOUNT]
               nephos keys accept   [OPTIONS] [ACCOUNT]
               nephos keys reset    [OPTIONS]

        A device is a directory of keys: ~/.local/share/nephos/keys, or NEPHOS_KEYS.
        The first one of an account has its keys. On another, code prints a code for
        this one time; approve, on a device that is on the list, asks for the code and
        hands it the keys. Carry the code yourself: who has it can be the device.
        revoke takes a device off the list that list names; what it has read it has.
        recovery prints a new recovery key; recover asks for it, and puts a device on
        the list when all others are lost: keep it on paper.

        approve and recover read the code and the key from standard input where that
        is not a terminal. They take neither as an argument: other processes see those.

        compare prints a code for the account, and for each with which it shares: read
        them to each other. An account whose list of devices is another one than before
        waits for accept ACCOUNT; accept alone has this device begin anew after a reset.
        reset ends the list and all keys: zones with encrypted values are deleted, on
        every device, and what was shared of them. Nothing brings them back.

        Options:
        \(CommandOption.help(options))

        """

    private var command: DeviceCommand

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        KeysProgram.run(try KeysCommand(arguments).command)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let seeHelp = "See 'nephos keys --help'."
        let (action, rest) = try Subcommand.parse(arguments, of: "keys", as: Action.self)
        let takesWord = action == .revoke || action == .compare || action == .accept
        let secret = action.secret
        let arguments = try Arguments(
            rest, options: Self.options, command: "keys", wordLimit: takesWord || secret != nil ? 1 : 0)
        if let secret, !arguments.words.isEmpty {
            throw UsageError(
                "'\(action.rawValue)' takes no \(secret) as an argument, which other processes see: it asks for it, or reads"
                    + " it from standard input. \(seeHelp)")
        }
        let address = try CloudAddress(arguments)
        guard case .server(let server) = address.place else {
            throw UsageError("devices are those of a running server: '--url' names it.")
        }
        guard let container = address.container else {
            throw UsageError("which container? Name it with '--container ID', or in NEPHOS_CONTAINER.")
        }
        guard let token = address.token else { throw UsageError("whose devices? Sign in with '--account NAME'.") }
        command = DeviceCommand(
            action.command, url: server.description, container: container, environment: address.environment,
            token: token, apiToken: address.apiToken)
        if action == .revoke, arguments.words.isEmpty {
            throw UsageError("'\(action.rawValue)' takes one argument. \(seeHelp)")
        }
        command.word =
            try secret.map { (name) throws(UsageError) in try SecretInput.read(name) } ?? arguments.words.first ?? ""
        if action == .reset {
            try Confirmation(arguments).ask("all keys of the account, and its zones that have encrypted values")
        }
    }
}
