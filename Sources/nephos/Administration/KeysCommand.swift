import CloudKit
import FoundationEssentials
import Glibc
import NephosHTTP

/// `nephos keys`: the devices that have an account's keys for encrypted values.
struct KeysCommand {
    enum Action: String, CaseIterable {
        case list, code, approve, revoke, recovery, recover, compare, accept, reset

        /// The name of the secret that the action reads.
        var secret: String? {
            switch self {
            case .approve: "code"
            case .recover: "recovery key"
            default: nil
            }
        }
    }

    static let options =
        CloudAddress.options.filter { $0.name != "--data" && $0.name != "--database" }
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

    private var action: Action
    private var devices: AccountDevices
    /// The action's argument, or its secret.
    private var word = ""

    /// Runs to completion; the exit status reports success.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try KeysCommand(arguments)
        let failure = waiting { () async -> String? in
            do throws(AccountDevices.Failure) {
                try await command.run()
                return nil
            } catch {
                return error.description
            }
        }
        guard let failure else { return }
        Console.note(failure)
        exit(1)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let seeHelp = "See 'nephos keys --help'."
        let (action, rest) = try Subcommand.parse(arguments, of: "keys", as: Action.self)
        self.action = action
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
        guard case .server(let server) = address.place, let url = URL(string: server.description) else {
            throw UsageError("devices are those of a running server: '--url' names it.")
        }
        guard let container = address.container else {
            throw UsageError("which container? Name it with '--container ID', or in NEPHOS_CONTAINER.")
        }
        guard let token = address.token else { throw UsageError("whose devices? Sign in with '--token TOKEN'.") }
        devices = AccountDevices(
            container: container,
            CloudKitEnvironment(
                url: url, account: .token(token), apiToken: address.apiToken,
                name: address.environment == "production" ? .production : .development))
        if action == .revoke, arguments.words.isEmpty {
            throw UsageError("'\(action.rawValue)' takes one argument. \(seeHelp)")
        }
        if let secret { word = try SecretInput.read(secret) } else { word = arguments.words.first ?? "" }
        if action == .reset {
            try Confirmation(arguments).ask("all keys of the account, and its zones that have encrypted values")
        }
    }

    private func run() async throws(AccountDevices.Failure) {
        switch action {
        case .list:
            for device in try await devices.list() {
                Console.print("\(device.name)\(device.isThis ? "  (this device)" : "")\n")
            }
        case .code:
            if let code = try await devices.code() {
                Console.print(code + "\n")
            } else {
                Console.note("this device is on the list already.")
            }
        case .approve: try await devices.approve(word)
        case .revoke: try await devices.revoke(word)
        case .recovery: Console.print(try await devices.makeRecoveryKey() + "\n")
        case .recover: try await devices.recover(word)
        case .compare: try await compare()
        case .accept: word.isEmpty ? try await devices.acceptOwn() : try await devices.accept(word)
        case .reset:
            try await devices.reset()
            Console.note("the account has new keys; zones with encrypted values are gone.")
        }
    }

    private func compare() async throws(AccountDevices.Failure) {
        for known in try await devices.compare(word.isEmpty ? nil : word) {
            Console.print("\(known.userRecordName)  \(known.code ?? "-")\(known.isThis ? "  (this account)" : "")\n")
            if let waiting = known.waiting {
                Console.print(
                    "  another list waits: \(waiting)\n  accept it with 'nephos keys accept \(known.userRecordName)'\n")
            }
        }
    }
}
