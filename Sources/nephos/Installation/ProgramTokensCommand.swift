import NephosServer
import NephosService
import NephosWire

/// `nephos program-tokens`: the tokens with which programs sign in as an account, to some containers.
enum ProgramTokensCommand {
    static let help = InstallationAction.help(
        "program-tokens", "Make the tokens of accounts' programs, list and revoke them.", actions,
        """

        A program sends the token as that of a session: NEPHOS_TOKEN of the library and of
        these commands, without an API token. It enrols no device, so that it has no keys of
        encrypted values, and reaches neither the administration nor the account's page. It
        expires at its time however much it is used. A new password does not revoke it.

        """)

    private static let container = CommandOption(
        "--container", "ID", "The container that the token reaches. May be given several times."
    ).repeatable
    private static let environment = CommandOption(
        "--environment", "NAME",
        "development or production; may be given several times. Default: development"
    ).repeatable
    private static let database = CommandOption(
        "--database", "NAME",
        "private, shared or public, of those that it reaches; may be given several times. Default: all"
    ).repeatable
    private static let readOnly = CommandOption("--read-only", nil, "The token reads, and writes nothing.")
    private static let expires = CommandOption(
        "--expires", "TIME", "The token expires after TIME, such as 30d, at most 365d. Default: 90d")
    private static let name = CommandOption("--name", "TEXT", "A name for people; it is needed.")
    private static let token = CommandOption("--token", "ID", "This token alone, as list prints it. Default: all")

    private static let actions = [
        InstallationAction(
            name: "create", words: "ACCOUNT", summary: "Make a token of an account, and print it, once.",
            options: [container, environment, database, readOnly, expires, name]
        ) {
            let made = try $0.send(
                "program-tokens/create",
                .init(
                    account: $1.words[0], name: try $1.require(name),
                    lifetime: try $1["--expires"].map { text throws(UsageError) in
                        try DurationArgument.parse(text, option: "--expires")
                    },
                    places: try places($1), databases: $1.has("--database") ? $1.all("--database") : nil,
                    readOnly: $1.has("--read-only") ? true : nil))
            Console.print("\(made.token ?? "")\n")
        },
        InstallationAction(name: "list", words: "ACCOUNT", summary: "Print the tokens of an account.") {
            try printTokens(of: $1.words[0], $0)
        },
        InstallationAction(
            name: "revoke", words: "ACCOUNT", summary: "Revoke the tokens of an account.", options: [token]
        ) {
            let revoked = try $0.send("program-tokens/revoke", .init(account: $1.words[0], id: $1["--token"]))
            Console.print("program tokens revoked: \(revoked.count ?? 0)\n")
        },
    ]

    private static func places(_ arguments: Arguments) throws(UsageError) -> [ProgramPlace] {
        _ = try arguments.require(container)
        let environments = arguments.has("--environment") ? arguments.all("--environment") : ["development"]
        for name in environments where ContainerEnvironment(rawValue: name) == nil {
            throw UsageError("'\(name)' is unknown: '--environment' takes development or production.")
        }
        return arguments.all("--container").flatMap { container in
            environments.map { ProgramPlace(container: container, environment: $0) }
        }
    }

    /// - Parameter isAlone: whether the command prints nothing else, and so says that there are none.
    static func printTokens(
        of account: String, _ installation: AdministeredInstallation, isAlone: Bool = true
    ) throws {
        let tokens = try installation.send("program-tokens/list", .init(account: account)).programTokens ?? []
        if tokens.isEmpty, isAlone { Console.print("no program tokens\n") }
        for token in tokens {
            let places = token.places.map { "\($0.container), \($0.environment)" }.joined(separator: "; ")
            let access = "\(token.isReadOnly ? "reads" : "reads and writes") \(token.databases.joined(separator: ", "))"
            Console.print(
                "\(token.id)  program \(Console.printable(token.name)): \(access) of \(places), until "
                    + "\(LogTime.text(token.expiresAt).prefix(10))\n")
        }
    }

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "program-tokens", help: help, actions)
    }
}
