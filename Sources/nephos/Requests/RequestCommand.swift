import FoundationEssentials
import NephosHTTP
import NephosService
import NephosWire

/// The command `nephos request`, which shows what is known of one of the last requests.
struct RequestCommand {
    static let options =
        RunningServer.options + [
            CommandOption("--json", nil, "Print what the server says, in JSON."),
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        See what is known of a request: each failed item, why it failed, and what helps.

        Usage: nephos request [OPTIONS] UUID

        UUID is the uuid of an error, as apps and logs have it. A server keeps its last
        1,000 requests while a dashboard or 'nephos tail' is open, and for five minutes
        after.

        Options:
        \(CommandOption.help(options))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "request", wordLimit: 1)
        guard let id = arguments.words.first else {
            throw UsageError("which request? Name it by the uuid of its error. See 'nephos request --help'.")
        }
        let connection = try RunningServer.connection(arguments)
        do {
            let (status, body) = try connection.get("/status/requests/show?id=" + PercentEncoding.escaped(id))
            guard status == 200 else { Console.fail(RunningServer.reason(status, body, of: connection)) }
            let request = try JSONDecoder().decode(ShownRequest.self, from: Data(body))
            if arguments.has("--json") {
                Console.data(String(decoding: TerminalSafe.json(body), as: UTF8.self) + "\n")
            } else {
                Console.print(request.text)
            }
        } catch let failure as ServerConnection.Failure {
            Console.fail(failure.description)
        } catch {
            Console.fail("\(connection.place) gave an answer that is not a Nephos server's of this version.")
        }
    }
}
