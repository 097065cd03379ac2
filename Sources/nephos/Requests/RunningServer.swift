import Glibc
import NephosHTTP
import NephosWire

/// The running server that a command about requests reads from: by its URL, or by its Unix socket on this machine.
enum RunningServer {
    static let options = [
        CommandOption("--url", "URL", "The running server. Default: NEPHOS_URL, or \(RemoteSchema.localURL)"),
        CommandOption("--data", "DIR", "The data directory of a running 'nephos serve' on this machine."),
        ServeCommand.socketOption,
        ServerCredentials.tokenOption,
    ]

    static func connection(_ arguments: Arguments) throws(UsageError) -> ServerConnection {
        let credentials = try ServerCredentials(arguments)
        let data = arguments["--data"]
        if let socket = arguments["--socket"] ?? data.map(ServeCommand.socketPath) {
            guard !arguments.has("--url") else { throw UsageError("'--data' and '--url' exclude each other.") }
            if access(socket, F_OK) == 0, access(socket, R_OK | W_OK) != 0 {
                Console.fail("\(socket): \(String(cString: strerror(errno)))")
            }
            if !AdministeredInstallation.isServed(socket) {
                Console.fail(
                    "no server answers at \(socket): start it with 'nephos serve', or name a running server with '--url'. "
                        + "'nephos dev' has no socket; without '--data' its address is \(RemoteSchema.localURL).")
            }
            return ServerConnection(socket: socket, credentials)
        }
        let text = arguments["--url"] ?? CloudAddress.variable("NEPHOS_URL") ?? RemoteSchema.localURL
        return ServerConnection(address: try ServerAddress(text), credentials)
    }

    /// The reason of a refusal, for people.
    static func reason(_ status: Int, _ body: [UInt8], of connection: ServerConnection) -> String {
        (try? ErrorDictionary(decoding: body))?.reason ?? "\(connection.place) answered \(status)."
    }
}
