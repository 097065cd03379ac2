import NephosServer
import NephosService
import Synchronization

/// The addresses at which a production server listens.
final class ServeListeners: Sendable {
    private let address: String

    init(_ arguments: Arguments, _ url: PublicURL) throws(UsageError) {
        address = arguments["--listen"] ?? "127.0.0.1:8484"
        let isLoopback = ["127.", "[::1]:"].contains { [address] in address.hasPrefix($0) }
        guard isLoopback || arguments.has("--behind-proxy") || arguments.has("--insecure") else {
            throw UsageError(
                "plain HTTP is served on the loopback alone: say that TLS ends in a proxy ('--behind-proxy') or nowhere "
                    + "('--insecure').")
        }
        guard url.isSecure || arguments.has("--insecure") || isLoopback else {
            throw UsageError("'\(url.text)' is not https: give '--insecure' to have passwords sent in the clear.")
        }
    }

    /// Binds the address, and the socket for administration.
    /// - Parameter socket: the path of that socket.
    func open(administration socket: String) throws(ListeningError) -> [ListeningSocket] {
        let network = try ListeningSocket.listen(on: address)
        do throws(ListeningError) {
            return [network, try .unix(path: socket)]
        } catch {
            network.close()
            throw error
        }
    }
}
