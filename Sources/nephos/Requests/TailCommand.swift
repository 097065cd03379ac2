import FoundationEssentials
import Glibc
import NephosHTTP
import NephosService
import NephosWire
import Synchronization

/// The command `nephos tail`, which prints the requests of a running server as they come.
struct TailCommand {
    static let options =
        RunningServer.options + [
            CommandOption("--container", "ID", "Only requests to this container."),
            CommandOption("--failed", nil, "Only what was refused, or whose items were."),
            CommandOption("--json", nil, "Print a line of JSON for each request."),
            CommandOption("--help", nil, "Show this help."),
        ]

    static let help = """
        Follow the requests of a running server: a line for each, as it is answered.

        Usage: nephos tail [OPTIONS]

        Under many requests some are left out, and a line says how many; failed ones are
        left out last. A connection that ends is opened again. Press Control-C to stop.

        Options:
        \(CommandOption.help(options))

        """

    /// The shortest and the longest wait in seconds before another attempt to connect.
    private static let (shortestWait, longestWait): (UInt32, UInt32) = (1, 15)

    private struct Batch: Decodable {
        var requests: [ShownRequest]
        /// The identifier of the ring that has the positions; nil of a server that is older.
        var ring: String?
        var next: Int
        var missed: Int
    }

    private let connection: ServerConnection
    private let filter: String
    private let printsJSON: Bool
    private let colours = isatty(STDOUT_FILENO) == 1 && CloudAddress.variable("NO_COLOR") == nil
    /// The position after the last request that was printed; nil before the first answer.
    private var position: String?

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        var command = try TailCommand(Arguments(arguments, options: options, command: "tail"))
        command.follow()
    }

    private init(_ arguments: Arguments) throws(UsageError) {
        connection = try RunningServer.connection(arguments)
        var filter = arguments.has("--failed") ? "&failed=1" : ""
        if let container = arguments["--container"] { filter += "&container=" + PercentEncoding.escaped(container) }
        self.filter = filter
        printsJSON = arguments.has("--json")
    }

    /// Prints requests until the process ends. Fails if the server refuses.
    private mutating func follow() -> Never {
        var wait = Self.shortestWait
        while true {
            let before = position
            let problem = readStream()
            if position != before { wait = Self.shortestWait }
            if let problem { Console.note("\(problem) Trying again in \(wait) s.") }
            sleep(wait)
            wait = min(2 * wait, Self.longestWait)
        }
    }

    /// Reads one stream to its end.
    /// - Returns: the reason why there is none; nil if the server ended it.
    private mutating func readStream() -> String? {
        let events = EventReader()
        // A server has another ring after a restart, and the requests that it had not sent before are lost.
        let ring = Mutex(position.flatMap(Self.ring))
        let target =
            "/status/requests/stream?" + (position.map { "after=" + PercentEncoding.escaped($0) } ?? "") + filter
        do throws(ServerConnection.Failure) {
            let (status, body) = try connection.stream(target) { [printsJSON, colours] bytes in
                for data in try events.events(adding: bytes) {
                    let batch = try JSONDecoder().decode(Batch.self, from: Data(data))
                    if ring.withLock({ ring in
                        defer { ring = batch.ring }
                        return ring != nil && ring != batch.ring
                    }) {
                        Console.note("The server has restarted: requests before this line may be missing.")
                    }
                    Self.print(batch, printsJSON: printsJSON, colours: colours)
                }
            }
            position = events.lastEventID ?? position
            if status == 200 { return nil }
            let reason = RunningServer.reason(status, body, of: connection)
            guard status == 503 || status == 429 else { Console.fail(reason) }
            return reason
        } catch {
            position = events.lastEventID ?? position
            return error.description
        }
    }

    /// The ring of a position; nil of a server that is older.
    private static func ring(_ position: String) -> String? {
        position.lastIndex(of: "-").map { String(position[..<$0]) }
    }

    private static func print(_ batch: Batch, printsJSON: Bool, colours: Bool) {
        if batch.missed > 0 { Console.note("\(batch.missed) requests were left out.") }
        let lines = batch.requests.map { (printsJSON ? $0.json : $0.line(colours: colours)) + "\n" }
        // No later line reaches a reader either.
        if !Console.offer(lines.joined()) { Console.checkOutput() }
    }
}
