import NephosServer
import NephosService
import NephosWire

/// The options that several actions share.
private enum Option {
    static let container = CommandOption("--container", "ID", "The container, such as iCloud.org.example.App.")
    static let environment = CommandOption("--environment", "NAME", "development or production. Default: development")
    static let origin = CommandOption(
        "--origin", "ORIGIN",
        """
        The origin of web pages that may use the token, such as
        https://app.example.org. May be given several times. Without one it is for
        programs alone.
        """
    ).repeatable
    static let callback = CommandOption(
        "--callback", "URL",
        """
        Where browsers go after a sign-in, with the web auth token, in place of the
        app's window.
        """)
    static let readOnly = CommandOption("--read-only", nil, "The token allows no sign-in: it reads public records.")
    static let expires = CommandOption("--expires", "TIME", "The token expires after TIME, such as 90d. Default: never")
    static let name = CommandOption("--name", "TEXT", "A name for people.")
    static let session = CommandOption("--session", "ID", "This session alone, as list prints it. Default: all")
    static let programTokens = CommandOption("--program-tokens", nil, "Revoke all program tokens of the account too.")
    static let noPassword = CommandOption(
        "--no-password", nil, "Make an account that cannot sign in by a password yet.")
    static let verified = CommandOption(
        "--verified", nil, "The name is an e-mail address, and known to be the person's.")
    static let remove = CommandOption(
        "--remove", "ID", "Remove the passkey, or with methods the passkey or provider, with this ID, or all.")
    static let role = CommandOption("--role", "ROLE", "administrator, developer or viewer. Default: administrator")
}

private func environment(_ arguments: Arguments) throws(UsageError) -> String {
    let name = arguments["--environment"] ?? "development"
    guard ContainerEnvironment(rawValue: name) != nil else {
        throw UsageError("'\(name)' is unknown: '--environment' takes development or production.")
    }
    return name
}

/// `nephos containers`: the containers that the server has.
enum ContainersCommand {
    static let help = InstallationAction.help(
        "containers", "Make the containers of a production server, list and delete them.", actions,
        """

        Once a container is being deleted it exists for nobody. Its data is deleted in the
        background, by any server; until all of it is gone list shows that, and no container
        of that name is made.

        """)

    private static let actions = [
        InstallationAction(name: "create", words: "ID", summary: "Make a container, with both environments.") {
            _ = try $0.send("containers/create", .init(container: $1.words[0]))
            Console.print("container \($1.words[0]) made\n")
        },
        InstallationAction(name: "list", summary: "Print the containers.") { installation, _ in
            let answer = try installation.send("containers/list")
            let lines =
                (answer.containers ?? []).map { "\($0)\n" }
                + (answer.beingDeleted ?? []).map { "\($0)  being deleted\n" }
            Console.print(lines.isEmpty ? "no containers\n" : lines.joined())
        },
        InstallationAction(
            name: "delete", words: "ID",
            summary: "Delete a container with both environments: all data and files, API\n"
                + "          tokens, server keys, sessions and roles. Accounts stay.",
            options: [Confirmation.option]
        ) {
            try Confirmation($1).ask("the container \($1.words[0]), with the data of all accounts in both environments")
            let deleted = try $0.send("containers/delete", .init(container: $1.words[0])).deleted ?? []
            Console.print("container \($1.words[0]) deleted:\n\(deleted.map(text).joined())")
            if deleted.isEmpty { Console.print("  it had no data\n") }
        },
    ]

    private static func text(_ deleted: AdministeredInstallation.DeletedEnvironment) -> String {
        let counts = [(deleted.accounts, "account"), (deleted.zones, "zone"), (deleted.records, "record")]
            .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
        return "  \(deleted.environment): \(deleted.isComplete ? "" : "at least ")\(counts.joined(separator: ", "))\n"
    }

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "containers", help: help, actions)
    }
}

/// `nephos api-tokens`: the tokens with which apps and web pages call the service.
enum APITokensCommand {
    static let help = InstallationAction.help(
        "api-tokens", "Make the API tokens of containers, list and revoke them.", actions,
        "\nAn API token is no secret: it says which app asks, and from which web pages.\n")

    private static let actions = [
        InstallationAction(
            name: "create", summary: "Make a token, and print it.",
            options: [
                Option.container, Option.environment, Option.origin, Option.callback, Option.readOnly, Option.expires,
                Option.name,
            ]
        ) {
            let lifetime = try $1["--expires"].map { text throws(UsageError) in
                try DurationArgument.parse(text, option: "--expires")
            }
            let made = try $0.send(
                "api-tokens/create",
                .init(
                    container: try $1.require(Option.container), environment: try environment($1), name: $1["--name"],
                    origins: $1.all("--origin"), allowsSignIn: !$1.has("--read-only"), callback: $1["--callback"],
                    lifetime: lifetime))
            Console.print("\(made.token ?? "")\n")
        },
        InstallationAction(
            name: "list", summary: "Print the tokens, with their containers and origins.", options: [Option.container]
        ) {
            let tokens = try $0.send("api-tokens/list", .init(container: $1["--container"])).apiTokens ?? []
            if tokens.isEmpty { Console.print("no API tokens\n") }
            for token in tokens {
                let origins = token.origins.isEmpty ? "programs" : token.origins.joined(separator: " ")
                let reads =
                    (token.allowsSignIn ? "" : ", read-only") + (token.callback.map { ", back to \($0)" } ?? "")
                let end = token.expiresAt.map { ", until \(LogTime.text($0))" } ?? ""
                Console.print(
                    "\(token.token)  \(token.container), \(token.environment): \(origins)\(reads)\(end)"
                        + "\(token.name.isEmpty ? "" : "  \(Console.printable(token.name))")\n")
            }
        },
        InstallationAction(name: "revoke", words: "TOKEN", summary: "Revoke a token. Sessions made with it go on.") {
            _ = try $0.send("api-tokens/revoke", .init(token: $1.words[0]))
            Console.print("API token revoked\n")
        },
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "api-tokens", help: help, actions)
    }
}

/// `nephos sessions`: who is signed in, from where.
enum SessionsCommand {
    static let help = InstallationAction.help(
        "sessions", "See the sessions of an account, make one for a program, end them.", actions)

    private static let actions = [
        InstallationAction(
            name: "create", words: "ACCOUNT",
            summary: "Sign an account in to a container, and print the token for NEPHOS_TOKEN.",
            options: [Option.container, Option.environment, Option.name]
        ) {
            let made = try $0.send(
                "sessions/create",
                .init(
                    account: $1.words[0], container: try $1.require(Option.container),
                    environment: try environment($1), label: $1["--name"]))
            Console.print("\(made.ckWebAuthToken ?? "")\n")
        },
        InstallationAction(name: "list", words: "ACCOUNT", summary: "Print the sessions of an account.") {
            let sessions = try $0.send("sessions/list", .init(account: $1.words[0])).sessions ?? []
            if sessions.isEmpty { Console.print("no sessions\n") }
            for session in sessions {
                let place =
                    session.container.map { "\($0), \(session.environment ?? "")" }
                    ?? (session.isOfBrowser == true ? "the server's pages" : "the administration")
                let times = "signed in \(LogTime.text(session.signedInAt)), until \(LogTime.text(session.expiresAt))"
                Console.print(
                    "\(session.id)  \(place), \(times)\(session.label.isEmpty ? "" : "  \(Console.printable(session.label))")\n"
                )
            }
            try ProgramTokensCommand.printTokens(of: $1.words[0], $0, isAlone: false)
        },
        InstallationAction(
            name: "end", words: "ACCOUNT", summary: "End the sessions of an account.",
            options: [Option.session, Option.programTokens]
        ) {
            let ended = try $0.send(
                "sessions/end",
                .init(
                    account: $1.words[0], session: $1["--session"],
                    programTokens: $1.has("--program-tokens") ? true : nil))
            Console.print("sessions ended: \(ended.count ?? 0)\n")
        },
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "sessions", help: help, actions)
    }
}

/// `nephos admins`: the accounts that administer the server over the network.
enum AdminsCommand {
    static let help = InstallationAction.help(
        "admins", "Give accounts roles in the administration of the server, and take them.", actions,
        """

        A viewer sees a container's schema and accounts, a developer changes them and
        extends the schema of development by saving, an administrator changes everything.

        """)

    private static let actions = [
        InstallationAction(
            name: "grant", words: "ACCOUNT", summary: "Give a role.", options: [Option.role, Option.container]
        ) {
            let role = $1["--role"] ?? "administrator"
            _ = try $0.send(
                "roles/grant", .init(account: $1.words[0], container: $1["--container"], role: role))
            Console.print("\($1.words[0]) is \(role)\($1["--container"].map { " of \($0)" } ?? "")\n")
        },
        InstallationAction(
            name: "revoke", words: "ACCOUNT",
            summary: "Take the role for a container, or without one that of an administrator.",
            options: [Option.container]
        ) {
            _ = try $0.send("roles/revoke", .init(account: $1.words[0], container: $1["--container"]))
            Console.print("role taken\n")
        },
        InstallationAction(name: "list", summary: "Print the roles.") { installation, _ in
            let roles = try installation.send("roles/list").roles ?? []
            if roles.isEmpty { Console.print("no roles\n") }
            for role in roles {
                Console.print("\(role.account)  \(role.role.rawValue)\(role.container.map { " of \($0)" } ?? "")\n")
            }
        },
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "admins", help: help, actions)
    }
}

/// `nephos accounts`: the accounts of a production server.
enum InstallationAccounts {
    static let actions = [
        InstallationAction(
            name: "create", words: "NAME", summary: "Make an account; the password is asked for, or a line of input.",
            options: [Option.noPassword, Option.verified]
        ) {
            let password = $1.has("--no-password") ? nil : try SecretInput.read("password")
            let made = try $0.send(
                "accounts/create", .init(account: $1.words[0], password: password, verified: $1.has("--verified")))
            Console.print("account \(made.name ?? "") made\n")
        },
        InstallationAction(
            name: "set-password", words: "NAME", summary: "Replace the password, and end all sessions."
        ) {
            let password = try SecretInput.read("password")
            _ = try $0.send("accounts/set-password", .init(account: $1.words[0], password: password))
            Console.print("password set; the account's sessions ended\n")
        },
        InstallationAction(name: "verify", words: "NAME", summary: "Vouch for the name as the person's address.") {
            _ = try $0.send("accounts/verify", .init(account: $1.words[0]))
            Console.print("address verified\n")
        },
        InstallationAction(
            name: "recovery-link", words: "NAME", summary: "Print a link that sets a new password, once, for an hour."
        ) {
            Console.print("\(try $0.send("accounts/recovery-link", .init(account: $1.words[0])).link ?? "")\n")
        },
        InstallationAction(name: "programs", words: "NAME", summary: "Print the program tokens of the account.") {
            try ProgramTokensCommand.printTokens(of: $1.words[0], $0)
        },
        InstallationAction(
            name: "invite", words: "ADDRESS", summary: "Mail a link that makes an account, or print it without mail."
        ) {
            let link = try $0.send("accounts/invite", .init(account: $1.words[0])).link
            Console.print(link.map { "\($0)\n" } ?? "the invitation is mailed\n")
        },
        InstallationAction(
            name: "passkeys", words: "NAME", summary: "Print the passkeys of an account, or remove some.",
            options: [Option.remove]
        ) {
            guard let removed = $1["--remove"] else { return try passkeys($1.words[0], $0) }
            let id = removed == "all" ? nil : removed
            let count = try $0.send("passkeys/remove", .init(account: $1.words[0], passkey: id)).count ?? 0
            Console.print("passkeys removed: \(count)\n")
        },
        SignInMethodsAction.action,
    ]

    /// Prints all accounts, a page at a time.
    static func list(_ installation: AdministeredInstallation) throws {
        var after = ""
        while true {
            let page = try installation.send("accounts/list", .init(after: after))
            let accounts = page.accounts ?? []
            if accounts.isEmpty, after.isEmpty { Console.print("no accounts\n") }
            for account in accounts {
                Console.print(
                    "\(account.name)  \(account.id)\(account.hasPassword ? "" : "  no password")"
                        + "\(account.isVerified == false ? "  not verified" : "")\(account.isBeingDeleted == true ? "  being deleted" : "")\n"
                )
            }
            guard case .name(let next)? = page.next, next != after else { return }
            after = next
        }
    }

    private static func passkeys(_ name: String, _ installation: AdministeredInstallation) throws {
        let passkeys = try installation.send("passkeys/list", .init(account: name)).passkeys ?? []
        if passkeys.isEmpty { Console.print("no passkeys\n") }
        for passkey in passkeys {
            Console.print("\(passkey.id)  \(passkey.relyingParty)  \(Console.printable(passkey.name))\n")
        }
    }

    /// - Parameter erasesPublicRecords: whether the records that it created in public databases go, too.
    static func delete(_ name: String, erasesPublicRecords: Bool, _ installation: AdministeredInstallation) throws {
        let deleted = try installation.send(
            "accounts/delete", .init(account: name, publicRecords: erasesPublicRecords ? true : nil))
        Console.print(
            "account '\(deleted.name ?? name)' deleted, with its data in every container. Its records in public "
                + "databases \(erasesPublicRecords ? "are deleted, too" : "stay").\n")
    }
}
