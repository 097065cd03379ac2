import NephosPostgres
import NephosWire

/// The command `nephos accounts`: the accounts of a production server, or those that a container of the local CloudKit
/// has.
struct AccountsCommand {
    enum Action: String, CaseIterable {
        case list, delete
    }

    /// The actions on a production server alone.
    private static let production = InstallationAccounts.actions

    private static let publicRecords = CommandOption(
        "--public-records", nil,
        "Delete the records that the account created in public databases, too; of a production server.")

    static let options =
        [Confirmation.option, publicRecords] + CloudAddress.containerOptions + ofInstallation + [
            CommandOption("--help", nil, "Show this help.")
        ]

    /// The options that only a production server has.
    private static let ofInstallation = AdministeredInstallation.options.filter { option in
        !CloudAddress.containerOptions.contains { $0.name == option.name }
    }

    /// Of two actions' options of one name the first.
    private static var distinctOptions: [CommandOption] {
        var seen: Set<String> = []
        return (production.flatMap(\.options) + options).filter { seen.insert($0.name).inserted }
    }

    static let help = """
        See accounts, make and delete them.

        Usage: nephos accounts create         [OPTIONS] NAME
               nephos accounts set-password   [OPTIONS] NAME
               nephos accounts verify         [OPTIONS] NAME
               nephos accounts recovery-link  [OPTIONS] NAME
               nephos accounts invite         [OPTIONS] ADDRESS
               nephos accounts programs       [OPTIONS] NAME
               nephos accounts passkeys       [OPTIONS] NAME
               nephos accounts methods        [OPTIONS] NAME
               nephos accounts adopt          --data DIR [OPTIONS]
               nephos accounts list           [OPTIONS]
               nephos accounts delete         [OPTIONS] NAME

          create         Make an account of a production server. The password is asked for,
                         or is the first line of standard input.
          set-password   Replace the password of such an account, and end its sessions.
          verify         Vouch for the name of such an account as an e-mail address of its
                         person: invitations to it reach the account, and mail about it.
          recovery-link  Print a link that sets a new password. It works once, for an hour.
                         Who has it has the account: pass it on to its person alone.
          invite         Mail a link that makes an account, or print it where the server
                         sends no mail. It works once, for a week. For 'nephos serve
                         --sign-up invitation' or open.
          programs       Print the program tokens of the account, as nephos program-tokens list
                         does.
          passkeys       Print the passkeys of such an account, or remove some, but never the
                         last way to sign in. Neither a new password nor the end of all
                         sessions removes one.
          methods        Print how such an account signs in: password, passkeys, identity
                         providers. Or remove passkeys and providers, but never the last
                         way to sign in.
          adopt          Give the names of nephos dev accounts of a production server. See
                         'nephos accounts adopt --help'.
          list           Print the name of each account, and its ID; with --container, or
                         for the local CloudKit, the name of its user record instead.
          delete         Delete an account with its private database, its part in others'
                         shares, its keys and subscriptions. What it shares ends for those
                         who take part. Its records in the public database stay, without
                         --public-records. Who signs in under the name afterwards is
                         another account.

        The accounts are those of a production server: the one at --url, as an
        administrator, or the one of --data, through its socket where it runs. Elsewhere
        they are those of a container of the local CloudKit.

        Options:
        \(CommandOption.help(distinctOptions))

        Options of adopt:
        \(CommandOption.help(AdoptCommand.options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") {
            return Console.print(arguments.first == "adopt" ? AdoptCommand.help : help)
        }
        if arguments.first == "adopt" { return try AdoptCommand.main(Array(arguments.dropFirst())) }
        if let name = arguments.first, production.contains(where: { $0.name == name }) {
            return try InstallationAction.main(arguments, of: "accounts", help: help, production)
        }
        let (action, rest) = try Subcommand.parse(arguments, of: "accounts", as: Action.self)
        let arguments = try Arguments(
            rest, options: options, command: "accounts", wordLimit: action == .list ? 0 : 1)
        let name = arguments.words.first ?? ""
        guard action == .list || !name.isEmpty else {
            throw UsageError("which account? Name it. See 'nephos accounts --help'.")
        }
        do {
            let target = try Target(arguments, action)
            switch action {
            case .list where target.isProduction && !arguments.has("--container"):
                try AdministeredInstallation.run(arguments, on: target.server, InstallationAccounts.list)
            case .list: try list(arguments)
            case .delete where target.isProduction: try deleteFromInstallation(name, arguments, on: target.server)
            case .delete where arguments.has(publicRecords.name):
                throw UsageError("'\(publicRecords.name)' is for a production server: name it, or its '--data DIR'.")
            case .delete: try delete(name, arguments)
            }
        } catch let error as UsageError {
            throw error
        } catch {
            Console.fail("\(error)")
        }
    }

    /// What has the accounts: a production server or the local CloudKit, running or stopped.
    private struct Target {
        /// The running server; nil for the one that has the data.
        var server: ServerAddress?
        var isProduction: Bool

        /// - Throws: `UsageError`; `Cloud.Failure` if the server cannot be reached.
        init(_ arguments: Arguments, _ action: Action) throws {
            if let option = ofInstallation.first(where: { arguments.has($0.name) }) {
                guard !arguments.has("--container") else {
                    throw UsageError("'\(option.name)' is for all accounts of a server: leave out '--container'.")
                }
                isProduction = true
            } else if case .server(let address) = try CloudAddress(arguments).place {
                server = address
                // The list of a container needs no role of the installation, whose refusal would be audited.
                let isOfContainer = action == .list && arguments.has("--container")
                isProduction = try !isOfContainer && AdministeredInstallation.isProduction(address, arguments)
            } else if arguments.has(RunningServer.socketOption.name) {
                isProduction = true
            } else {
                let data = arguments["--data"] ?? ""
                isProduction = ServeCommand.isProduction(data) || PostgresStores.isOfDatabase(directory: data)
            }
        }
    }

    private static func list(_ arguments: Arguments) throws(UsageError) {
        try Cloud.run(on: try CloudAddress(arguments)) { cloud in
            var request = ListAccountsRequest()
            repeat {
                let page = try cloud.administer("accounts/list", request, as: AccountsResponse.self)
                if page.accounts.isEmpty, request.continuationMarker == nil { Console.print("no accounts\n") }
                Console.print(try cloud.shown(page.accounts.map { "\($0.name)  \($0.userRecordName)\n" }.joined()))
                request.continuationMarker = page.continuationMarker
            } while request.continuationMarker != nil
        }
    }

    private static func deleteFromInstallation(
        _ name: String, _ arguments: Arguments, on server: ServerAddress?
    ) throws(UsageError) {
        guard !arguments.has("--container") else {
            throw UsageError("a production server deletes an account in all containers: leave out '--container'.")
        }
        let erases = arguments.has(publicRecords.name)
        let more = erases ? " and its records in public databases" : ""
        try Confirmation(arguments).ask("the account '\(name)', with its private databases in all containers\(more)")
        try AdministeredInstallation.run(arguments, on: server) {
            try InstallationAccounts.delete(name, erasesPublicRecords: erases, $0)
        }
    }

    private static func delete(_ name: String, _ arguments: Arguments) throws(UsageError) {
        let address = try CloudAddress(arguments)
        let confirmation = Confirmation(arguments)
        try Cloud.run(on: address) { cloud in
            try confirmation.ask("the account '\(name)' of \(cloud.container), with its private database")
            let request = DeleteAccountRequest(account: name)
            Console.print(text(try cloud.administer("accounts/delete", request, as: DeleteAccountResponse.self)))
        }
    }

    private static func text(_ deleted: DeleteAccountResponse) -> String {
        """
        account '\(deleted.account)' deleted (\(deleted.userRecordName)):
          its private database, with \(count(deleted.zones, "custom zone")) and \(count(Int(deleted.assetBytes), "byte")) of files
          \(count(deleted.shares, "share")) of its own, \(count(deleted.joinedShares, "share")) of others that it took part in
          \(count(deleted.subscriptions, "subscription")), \(count(deleted.pushTokens, "client")) that were notified
        Its records in the public database stay.

        """
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
