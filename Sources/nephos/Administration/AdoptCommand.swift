import Glibc
import NephosHTTP
import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage

/// `nephos accounts adopt`: turns the data of `nephos dev` into that of a production server.
struct AdoptCommand {
    static let options = [
        CommandOption("--data", "DIR", "The data directory of nephos dev."),
        CommandOption(
            "--storage", "ADDRESS",
            """
            The stores are in PostgreSQL, postgresql://USER@HOST/DATABASE. No server may
            run.
            """),
        CommandOption(
            "--accept-unsafe-storage", nil, "Use a PostgreSQL server also where it may lose what was answered."),
        CommandOption(
            "--names", "FILE",
            """
            The names with which accounts sign in: lines such as ada = ada@example.org.
            Default: their names, in lower case
            """),
        CommandOption(
            "--recovery-keys", "DIR",
            """
            Write the recovery keys of the accounts whose keys nephos dev keeps, a file
            for each, to DIR: it is made, or is yours alone.
            """),
        CommandOption(
            "--developer", "NAME",
            """
            This account may extend the schemas of development by saving. May be given
            several times.
            """
        ).repeatable,
        CommandOption("--dry-run", nil, "Say what would become of the names, and change nothing."),
        CommandOption("--yes", nil, "Adopt without asking."),
        CommandOption("--help", nil, "Show this help."),
    ]

    static let help = """
        Give the names of nephos dev accounts of a production server.

        Usage: nephos accounts adopt --data DIR [OPTIONS]

        A name becomes one account in all containers. Its records, shares, change tokens
        and encrypted values stay; it has no password until 'nephos accounts
        set-password'. The keys that nephos dev keeps for its devices become a recovery
        key, which 'nephos keys recover' takes on the first device.

        No server may run. Back up before: there is no way back to nephos dev. A command
        that was interrupted continues when it is run again.

        Options:
        \(CommandOption.help(options))

        """

    private let arguments: Arguments
    private let stores: any StoreProvider
    private let names: [String: String]

    static func main(_ arguments: [String]) throws(UsageError) {
        let arguments = try Arguments(arguments, options: options, command: "accounts adopt")
        guard arguments.has("--data") || arguments.has("--storage") else {
            throw UsageError("which data? Name it with '--data DIR'. See 'nephos accounts adopt --help'.")
        }
        let names = try arguments["--names"].map(NamesFile.read) ?? [:]
        do {
            let stores = try open(arguments)
            defer { stores.close() }
            try AdoptCommand(arguments: arguments, stores: stores, names: names).run()
        } catch let error as UsageError {
            throw error
        } catch let error as ServiceError {
            Console.fail(error.reason)
        } catch let error as StorageError {
            Console.fail(error.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    private static func open(_ arguments: Arguments) throws -> any StoreProvider {
        if let data = arguments["--data"] { try DataOwner.become(ofData: data) }
        if let text = arguments["--storage"] {
            let options = PostgresOptions(
                connections: 2, acceptsUnsafeServer: arguments.has("--accept-unsafe-storage"))
            return try StoresInFiles.database(
                try StorageAddress.parse(text, option: "--storage"), options, assets: arguments["--data"])
        }
        let data = arguments["--data"] ?? ""
        // Creating a missing directory would hide a mistyped name.
        guard FileSystem.isDirectory(data) else { throw StorageError(.inputOutput, "there is no directory \(data).") }
        return try StoresInFiles.open(data, remedy: "Give \(StoresInFiles.storageOption).")
    }

    private func run() throws {
        let adoption = Adoption(stores)
        let plan = try Self.answer { [names] in try await adoption.plan(names: names) }
        guard !plan.isDone else { return Console.print("every account is one of the production server already\n") }
        print(plan)
        guard plan.problems.isEmpty else {
            for problem in plan.problems { Console.note(problem) }
            Console.fail("nothing is changed.")
        }
        let withKeys = plan.people.filter(\.hasKeptKeys)
        guard withKeys.isEmpty || arguments.has("--recovery-keys") else {
            Console.fail(
                "nephos dev keeps the keys of \(Self.list(withKeys.map(\.signInName))): give '--recovery-keys DIR', where "
                    + "their recovery keys are written. Nothing is changed.")
        }
        let developers = try plan.signInNames(of: arguments.all("--developer"))
        if arguments.has("--dry-run") { return }
        try Confirmation(arguments).ask(
            "Adopt these accounts?", otherwise: "Nothing is changed without a question: give '--yes', or '--dry-run'.",
            refusal: "nothing is changed.")
        let keys = try arguments["--recovery-keys"].map { try RecoveryKeyFiles($0).write(for: withKeys) } ?? [:]
        try Self.answer {
            try await adoption.run(
                plan, recoveryKeys: keys, developers: developers, by: AuditActor(name: "user \(DataOwner.caller)"))
        }
        Console.print(
            "adopted: 'nephos serve' serves the data, once 'nephos accounts set-password' has given passwords\n")
    }

    private func print(_ plan: AdoptionPlan) {
        if plan.isContinued { Console.print("continues the adoption that was interrupted\n") }
        for person in plan.people {
            let names = person.names == [person.signInName] ? "" : " (\(Self.list(person.names)))"
            Console.print("\(person.signInName)\(names)\(person.hasKeptKeys ? ", with a recovery key" : "")\n")
            for store in person.stores { Console.print("  \(store.text)\n") }
        }
    }

    private static func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }

    private static func answer<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        try waiting { () async -> Result<Value, any Error> in
            do { return .success(try await body()) } catch { return .failure(error) }
        }.get()
    }
}
