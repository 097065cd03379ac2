import Glibc
import NephosHTTP
import NephosWire

/// The running server that a command about requests reads from: by its URL, or by its Unix socket on this machine.
enum RunningServer {
    static let socketOption = CommandOption(
        "--socket", "FILE", "The socket of a running 'nephos serve', as its --socket names it.")

    static let options = [
        CommandOption("--url", "URL", "The running server. Default: NEPHOS_URL, or \(RemoteSchema.localURL)"),
        CommandOption("--data", "DIR", "The data directory of a running 'nephos serve' on this machine."),
        socketOption,
        ServerCredentials.tokenOption,
    ]

    static func connection(_ arguments: Arguments) throws(UsageError) -> ServerConnection {
        let credentials = try ServerCredentials(arguments)
        try checkIsOnePlace(arguments)
        if let socket = arguments["--socket"] ?? arguments["--data"].map(ServeCommand.socketPath) {
            checkIsServed(
                socket, "'nephos dev' has no socket; without '--data' its address is \(RemoteSchema.localURL).")
            return ServerConnection(socket: socket, credentials)
        }
        let text = arguments["--url"] ?? CloudAddress.variable("NEPHOS_URL") ?? RemoteSchema.localURL
        return ServerConnection(address: try ServerAddress(text), credentials)
    }

    /// Refuses a URL beside a socket or a data directory.
    static func checkIsOnePlace(_ arguments: Arguments) throws(UsageError) {
        guard arguments.has("--url"), let other = ["--data", "--socket"].first(where: arguments.has) else { return }
        throw UsageError("'\(other)' and '--url' exclude each other.")
    }

    /// Returns the socket that `--socket` names; nil without the option. Fails if no server answers there: the command would
    /// go on with the data of `--data`, or of its default, which may be another server's.
    static func namedSocket(_ arguments: Arguments) -> String? {
        guard let socket = arguments["--socket"] else { return nil }
        checkIsServed(socket, stoppedRemedy)
        return socket
    }

    static let stoppedRemedy = "Leave out '--socket' for the data of a stopped server."

    /// - Parameter remedy: what else helps if no server answers.
    static func checkIsServed(_ socket: String, _ remedy: String) {
        if access(socket, F_OK) == 0, access(socket, R_OK | W_OK) != 0 {
            Console.fail("\(socket): \(String(cString: strerror(errno)))")
        }
        if AdministeredInstallation.isServed(socket) { return }
        Console.fail(
            "no server answers at \(socket): start it with 'nephos serve', or name a running server with '--url'. \(remedy)"
        )
    }

    /// The reason of a refusal, for people.
    static func reason(_ status: Int, _ body: [UInt8], of connection: ServerConnection) -> String {
        (try? ErrorDictionary(decoding: body))?.reason ?? "\(connection.place) answered \(status)."
    }
}
