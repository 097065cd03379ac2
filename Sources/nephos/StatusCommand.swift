import NephosHTTP
import NephosWire

/// The command `nephos status`, which shows the containers, accounts and records of a running server.
struct StatusCommand {
    static let options =
        RunningServer.options + [
            CommandOption("--json", nil, "Print what the server says, in JSON."),
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        See what a running server holds: containers, accounts, and records by type.

        Usage: nephos status [OPTIONS]

        A browser shows more at the server's address: requests, records, schema, people.

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "status")
        let connection = try RunningServer.connection(arguments)
        do {
            let (status, body) = try connection.get("/status")
            guard status == 200 else { Console.fail(RunningServer.reason(status, body, of: connection)) }
            let overview = try ServiceOverview(decoding: body)
            if arguments.has("--json") {
                Console.data(String(decoding: body, as: UTF8.self))
            } else {
                Console.print(text(overview, connection.place.description))
            }
        } catch let failure as ServerConnection.Failure {
            Console.fail(failure.description)
        } catch {
            Console.fail("\(connection.place) gave an answer that is not a Nephos server's of this version.")
        }
    }

    static func text(_ overview: ServiceOverview, _ address: String) -> String {
        var text = "\(address) answers\n"
        if overview.containers.isEmpty { text += "no containers yet\n" }
        for container in overview.containers {
            if container.zones == 0, !container.isComplete {
                text +=
                    "\n\(container.container), \(container.environment): not counted: its store is missing, or cannot be read\n"
                continue
            }
            let accounts = container.accounts.isEmpty ? "no accounts" : container.accounts.joined(separator: ", ")
            text += "\n\(container.container), \(container.environment): \(container.zones) zones; \(accounts)\n"
            let width = (container.recordTypes.map(\.name.count).max() ?? 0) + 2
            for type in container.recordTypes {
                let padding = String(repeating: " ", count: width - type.name.count)
                let isCounted = container.isComplete || type.records > 0
                text += "  \(type.name)\(padding)\(isCounted ? "\(type.records)" : "older than those counted")\n"
            }
            if !container.isComplete { text += "  and more that was not counted\n" }
        }
        return overview.isComplete ? text : text + "\nand more containers\n"
    }
}
