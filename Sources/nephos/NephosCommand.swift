/// A command of `nephos`, from which its help, the manual page and the completion are generated.
struct NephosCommand: Sendable {
    typealias Main = @Sendable ([String]) throws(UsageError) -> Void

    let name: String
    let summary: String
    let main: Main
    private let makeHelp: @Sendable () -> String

    /// The start of a server pays for no help text.
    init(name: String, summary: String, help: @autoclosure @escaping @Sendable () -> String, main: @escaping Main) {
        self.name = name
        self.summary = summary
        self.main = main
        makeHelp = help
    }

    var help: String { makeHelp() }

    static let all = [
        NephosCommand(
            name: "dev", summary: "Run the local CloudKit on this machine, for development and tests.",
            help: DevCommand.help, main: { arguments throws(UsageError) in try DevCommand.main(arguments) }),
        NephosCommand(
            name: "serve", summary: "Run a production server: TLS, accounts, API tokens, sessions.",
            help: ServeCommand.help, main: { arguments throws(UsageError) in try ServeCommand.main(arguments) }),
        NephosCommand(
            name: "containers", summary: "Make the containers of a production server, and list them.",
            help: ContainersCommand.help,
            main: { arguments throws(UsageError) in try ContainersCommand.main(arguments) }),
        NephosCommand(
            name: "api-tokens", summary: "Make the API tokens of containers, list and revoke them.",
            help: APITokensCommand.help,
            main: { arguments throws(UsageError) in try APITokensCommand.main(arguments) }),
        NephosCommand(
            name: "sessions", summary: "See the sessions of an account, make one for a program, end them.",
            help: SessionsCommand.help,
            main: { arguments throws(UsageError) in try SessionsCommand.main(arguments) }),
        NephosCommand(
            name: "program-tokens", summary: "Make the tokens of accounts' programs, list and revoke them.",
            help: ProgramTokensCommand.help,
            main: { arguments throws(UsageError) in try ProgramTokensCommand.main(arguments) }),
        NephosCommand(
            name: "admins", summary: "Give accounts roles in the administration of the server, and take them.",
            help: AdminsCommand.help, main: { arguments throws(UsageError) in try AdminsCommand.main(arguments) }),
        NephosCommand(
            name: "login", summary: "Sign in to a server, by a code that you approve in any browser.",
            help: LoginCommand.help, main: { arguments throws(UsageError) in try LoginCommand.main(arguments) }),
        NephosCommand(
            name: "logout", summary: "End the sessions of nephos login at a server.",
            help: LoginCommand.logoutHelp,
            main: { arguments throws(UsageError) in try LoginCommand.logout(arguments) }),
        NephosCommand(
            name: "server-keys", summary: "Add the server-to-server keys of containers, list and revoke them.",
            help: ServerKeysCommand.help,
            main: { arguments throws(UsageError) in try ServerKeysCommand.main(arguments) }),
        NephosCommand(
            name: "audit", summary: "See the sign-ins, the administration and the refusals of the last year.",
            help: AuditCommand.help, main: { arguments throws(UsageError) in try AuditCommand.main(arguments) }),
        NephosCommand(
            name: "status", summary: "See what a running server holds.",
            help: StatusCommand.help, main: { arguments throws(UsageError) in try StatusCommand.main(arguments) }),
        NephosCommand(
            name: "export", summary: "Export the records of a database, one to a line.",
            help: ExportCommand.help, main: { arguments throws(UsageError) in try ExportCommand.main(arguments) }),
        NephosCommand(
            name: "import", summary: "Import the records of an export.",
            help: ImportCommand.help, main: { arguments throws(UsageError) in try ImportCommand.main(arguments) }),
        NephosCommand(
            name: "verify", summary: "Check that stores are whole: the database, every record, every file.",
            help: VerifyCommand.help, main: { arguments throws(UsageError) in try VerifyCommand.main(arguments) }),
        NephosCommand(
            name: "backup", summary: "Copy stores as they are now, with the files of their assets.",
            help: BackupCommand.help, main: { arguments throws(UsageError) in try BackupCommand.main(arguments) }),
        NephosCommand(
            name: "restore", summary: "Restore stores from a backup.",
            help: RestoreCommand.help, main: { arguments throws(UsageError) in try RestoreCommand.main(arguments) }),
        NephosCommand(
            name: "migrate", summary: "Move stores from files to PostgreSQL, or back.",
            help: MigrateCommand.help, main: { arguments throws(UsageError) in try MigrateCommand.main(arguments) }),
        NephosCommand(
            name: "query", summary: "Find records, count them, or explain how a query is answered.",
            help: QueryCommand.help, main: { arguments throws(UsageError) in try QueryCommand.main(arguments) }),
        NephosCommand(
            name: "schema", summary: "Export, import, validate, reset and deploy a schema, drop fields.",
            help: SchemaCommand.help, main: { arguments throws(UsageError) in try SchemaCommand.main(arguments) }),
        NephosCommand(
            name: "preflight", summary: "Say what production would refuse of what development does.",
            help: SchemaCommand.help,
            main: { arguments throws(UsageError) in try SchemaCommand.main(["preflight"] + arguments) }),
        NephosCommand(
            name: "accounts", summary: "See accounts, make and delete them.",
            help: AccountsCommand.help,
            main: { arguments throws(UsageError) in try AccountsCommand.main(arguments) }),
        NephosCommand(
            name: "zones", summary: "See accounts' zones, and remove them as their user can.",
            help: ZonesCommand.help, main: { arguments throws(UsageError) in try ZonesCommand.main(arguments) }),
        NephosCommand(
            name: "deletions", summary: "Forget deletions before their time is over.",
            help: DeletionsCommand.help,
            main: { arguments throws(UsageError) in try DeletionsCommand.main(arguments) }),
        NephosCommand(
            name: "faults", summary: "Have requests to a development server go wrong.",
            help: FaultsCommand.help, main: { arguments throws(UsageError) in try FaultsCommand.main(arguments) }),
        NephosCommand(
            name: "roles", summary: "Give accounts the roles that a schema makes.",
            help: RolesCommand.help, main: { arguments throws(UsageError) in try RolesCommand.main(arguments) }),
        NephosCommand(
            name: "keys", summary: "Approve the devices that have an account's keys for encrypted values.",
            help: KeysCommand.help, main: { arguments throws(UsageError) in try KeysCommand.main(arguments) }),
        NephosCommand(
            name: "share", summary: "See what accounts share, and with whom.",
            help: ShareCommand.help, main: { arguments throws(UsageError) in try ShareCommand.main(arguments) }),
        NephosCommand(
            name: "why", summary: "Say what an account may do with a record, and why.",
            help: WhyCommand.help, main: { arguments throws(UsageError) in try WhyCommand.main(arguments) }),
        NephosCommand(
            name: "explain", summary: "Explain an error by its code or text: causes, remedy, what provokes it.",
            help: ExplainCommand.help,
            main: { arguments throws(UsageError) in try ExplainCommand.main(arguments) }),
        NephosCommand(
            name: "tail", summary: "Follow the requests of a running server.",
            help: TailCommand.help, main: { arguments throws(UsageError) in try TailCommand.main(arguments) }),
        NephosCommand(
            name: "request", summary: "See why a request failed, and what helps.",
            help: RequestCommand.help, main: { arguments throws(UsageError) in try RequestCommand.main(arguments) }),
        NephosCommand(
            name: "completion", summary: "Print what completes these commands in bash.",
            help: Completion.help, main: { arguments throws(UsageError) in try Completion.main(arguments) }),
        NephosCommand(
            name: "manual", summary: "Print the manual page, for man.",
            help: ManualPage.help, main: { arguments throws(UsageError) in try ManualPage.main(arguments) }),
    ]

    /// The names of the options in the help of the command, in order.
    var options: [String] {
        var seen: Set<String> = []
        return help.split(separator: "\n").compactMap { line in
            let text = line.drop { $0 == " " }
            guard line.hasPrefix("  "), text.hasPrefix("--") else { return nil }
            let name = String(text.prefix { $0 != " " && $0 != "," })
            return seen.insert(name).inserted ? name : nil
        }
    }

    /// The actions that may follow the name of the command, such as `export` and `import`.
    var actions: [String] {
        var seen: Set<String> = []
        return help.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").drop { $0 == "Usage:" }
            guard words.starts(with: ["nephos", name[...]]), let word = words.dropFirst(2).first,
                word.allSatisfy({ $0.isLowercase || $0 == "-" }), !word.hasPrefix("-")
            else { return nil }
            return seen.insert(String(word)).inserted ? String(word) : nil
        }
    }
}

/// The command `nephos completion`, which prints a script. Bash sources the script to complete commands and options.
enum Completion {
    static let help = """
        Print what completes nephos' commands, their actions and their options in bash.

        Usage: nephos completion

        For this shell:  source <(nephos completion)

        Options:
          --help  Show this help.

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        _ = try Arguments(arguments, options: [], command: "completion")
        Console.data(script)
    }

    static var script: String {
        let names = NephosCommand.all.map(\.name) + ["help", "version"]
        let cases = NephosCommand.all.map { command in
            "        \(command.name)) words=\"\((command.actions + command.options).joined(separator: " "))\" ;;\n"
        }
        return """
            # Completes nephos \(Nephos.version) in bash.
            _nephos() {
                local current="${COMP_WORDS[COMP_CWORD]}" words=""
                if [ "$COMP_CWORD" -eq 1 ]; then words="\(names.joined(separator: " "))"; else
                    case "${COMP_WORDS[1]}" in
                    help) words="\(NephosCommand.all.map(\.name).joined(separator: " "))" ;;

            """ + cases.joined() + """
                        esac
                    fi
                    COMPREPLY=($(compgen -W "$words" -- "$current"))
                }
                complete -o default -F _nephos nephos

                """
    }
}

/// The command `nephos manual`, which prints the manual page nephos(1). It is generated from the help of the commands,
/// so that both agree.
enum ManualPage {
    static let help = """
        Print the manual page, nephos(1), as man reads it.

        Usage: nephos manual [--settings | --example]

        To read it without installing it:  nephos manual | man -l -

        Options:
        \(CommandOption.help(options))

        """

    private static let options = [
        CommandOption("--settings", nil, "Print a table of the settings of nephos serve, in Markdown."),
        CommandOption("--example", nil, "Print a configuration file for nephos serve with every setting in a comment."),
        CommandOption("--help", nil, "Show this help."),
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "manual")
        switch (arguments.has("--settings"), arguments.has("--example")) {
        case (true, true): throw UsageError("'--settings' and '--example' exclude each other.")
        case (true, false): Console.data(SettingsReference.table)
        case (false, true): Console.data(SettingsReference.example)
        case (false, false): Console.data(page)
        }
    }

    static var page: String {
        let head = """
            .TH NEPHOS 1 "" "Nephos \(Nephos.version)"
            .SH NAME
            nephos \\- CloudKit that anyone can run
            .SH SYNOPSIS
            .B nephos
            .I COMMAND
            [\\fIOPTIONS\\fR]

            """
        let commands = NephosCommand.all.map { command in
            ".SH \"\(("nephos " + command.name).uppercased())\"\n.nf\n\(escaped(command.help)).fi\n"
        }
        let tail = """
            .SH ENVIRONMENT
            .nf
            NEPHOS_URL          The server that commands and apps reach. Default: http://127.0.0.1:8484
            NEPHOS_TOKEN        The token to sign in with, for example dev:NAME
            NEPHOS_CONTAINER    The container, where a command names none.
            NEPHOS_ENVIRONMENT  development or production. Default: development
            NEPHOS_CA_FILE      The authorities whose certificates are trusted for https://, in PEM.
                                Default: the system's
            NEPHOS_SEAL_ASSETS  no: an app's files of assets are not encrypted. Default: yes
            NEPHOS_SERVE_…      The settings of nephos serve: see there.
            NO_COLOR            No colours on a terminal.
            http_proxy, https_proxy, no_proxy
                                How servers elsewhere are reached.
            .fi
            .SH "EXIT STATUS"
            0 for success, 1 for a failure, 2 for a command line that cannot be understood, 141 if
            the reader of the output has gone.

            """
        return head + commands.joined() + tail
    }

    /// Escapes the special characters of roff: backslashes, and points and quotes at the beginning of a line.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : String(line)
        }.joined(separator: "\n")
    }
}
