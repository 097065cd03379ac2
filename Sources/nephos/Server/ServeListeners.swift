import FoundationEssentials
import NephosServer
import NephosService
import Synchronization

/// The addresses at which a production server listens, with its certificate.
final class ServeListeners: Sendable {
    /// The time in seconds before a certificate's expiry from which the log warns of it.
    static let warning = 14.0 * 24 * 60 * 60

    let address: String
    /// The address of the metrics' listener; nil for none.
    let metricsAddress: String?
    private let host: String
    private let files: (certificate: String, key: String)?
    /// The certificate of the start; nil for plain HTTP.
    let credentials: TLSCredentials?
    /// The server once it runs, and the certificate that it serves or is going to serve.
    private let served: Mutex<(server: HTTPServer?, credentials: TLSCredentials?)>
    /// The proxies that are believed about their clients.
    let proxies: TrustedProxies

    init(_ arguments: Arguments, _ url: PublicURL) throws(UsageError) {
        host = url.host
        address = arguments["--listen"] ?? "127.0.0.1:8484"
        metricsAddress = arguments["--metrics-listen"]
        let listening = try Self.parse(address, option: "--listen")
        files = try Self.files(arguments)
        do throws(TLSFailure) {
            credentials = try files.map(Self.read)
        } catch {
            throw UsageError("'--tls-cert' and '--tls-key': \(error.description).")
        }
        served = Mutex((nil, credentials))
        do throws(InvalidProxy) {
            proxies = try TrustedProxies(arguments.all("--trust-proxy"))
        } catch {
            throw UsageError("'--trust-proxy': \(error.description).")
        }
        try Self.checkIsSecure(arguments, url, listening.address, hasTLS: credentials != nil)
        guard !arguments.has("--behind-proxy") || !proxies.isEmpty else {
            throw UsageError(
                "'--behind-proxy' needs '--trust-proxy ADDRESS', the proxy's, such as 127.0.0.1: without it all clients "
                    + "are one, and a guess of one's password delays the others.")
        }
        if let metricsAddress {
            let other = try Self.parse(metricsAddress, option: "--metrics-listen")
            guard !Self.conflict(listening, other) else {
                throw UsageError("'--metrics-listen' and '--listen' need different ports, or different addresses.")
            }
        }
        guard url.isSecure || credentials == nil else {
            throw UsageError("'--url \(url.text)' is not https, but '--tls-cert' is given.")
        }
    }

    /// Throws if passwords would be sent in the clear without `--insecure`.
    private static func checkIsSecure(
        _ arguments: Arguments, _ url: PublicURL, _ address: IPAddress, hasTLS: Bool
    ) throws(UsageError) {
        if arguments.has("--insecure") { return }
        guard hasTLS || address.isLoopback || arguments.has("--behind-proxy") else {
            throw UsageError(
                "plain HTTP is served on the loopback alone: give '--tls-cert FILE' and '--tls-key FILE', or say that "
                    + "TLS ends in a proxy ('--behind-proxy') or nowhere ('--insecure').")
        }
        guard url.isSecure || url.isLoopback else {
            throw UsageError("'\(url.text)' is not https: give '--insecure' to have passwords sent in the clear.")
        }
    }

    private static func parse(
        _ address: String, option: String
    ) throws(UsageError) -> (address: IPAddress, port: UInt16) {
        do throws(ListeningError) {
            return try ListeningSocket.parse(address)
        } catch {
            throw UsageError("'\(option)': \(error).")
        }
    }

    /// Whether two listeners exclude each other: the address of all addresses has every one of its family.
    private static func conflict(
        _ one: (address: IPAddress, port: UInt16), _ other: (address: IPAddress, port: UInt16)
    ) -> Bool {
        guard one.port == other.port, one.port != 0, one.address.isIPv4 == other.address.isIPv4 else { return false }
        return one.address == other.address || one.address.isAny || other.address.isAny
    }

    private static func files(_ arguments: Arguments) throws(UsageError) -> (certificate: String, key: String)? {
        switch (arguments["--tls-cert"], arguments["--tls-key"]) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            guard !arguments.has("--behind-proxy") else {
                throw UsageError("'--behind-proxy' and '--tls-cert' exclude each other: TLS ends in one place.")
            }
            return (certificate, key)
        default: throw UsageError("'--tls-cert' and '--tls-key' go together.")
        }
    }

    private static func read(_ files: (certificate: String, key: String)) throws(TLSFailure) -> TLSCredentials {
        try TLSCredentials.read(certificateFile: files.certificate, keyFile: files.key)
    }

    /// Binds the address.
    func open() throws(ListeningError) -> ListeningSocket {
        var network = try ListeningSocket.listen(on: address)
        network.isTLS = credentials != nil
        return network
    }

    /// Binds the address of the metrics; nil without one.
    func openMetrics() throws(ListeningError) -> ListeningSocket? {
        guard let metricsAddress else { return nil }
        return try ListeningSocket.listen(on: metricsAddress)
    }

    /// Gives a server that started the certificate that was read meanwhile.
    func started(_ server: HTTPServer) {
        let current = served.withLock { served in
            served.server = server
            return served.credentials
        }
        if let current, current !== credentials { server.reload(current) }
    }

    // MARK: The certificate

    /// Reads the certificate and key again, for the connections from now on. A pair that cannot be used leaves the
    /// former one, and so does one that clients refuse, unless they refuse the former one too.
    func reload(_ log: DevLog) {
        guard let files else { return log.note("there is no certificate to read again") }
        do throws(TLSFailure) {
            let credentials = try Self.read(files)
            if let refusal = credentials.refusal(for: host),
                served.withLock({ $0.credentials?.refusal(for: host) }) == nil
            {
                throw TLSFailure(refusal)
            }
            let server = served.withLock { served in
                served.credentials = credentials
                return served.server
            }
            server?.reload(credentials)
            log.note("the certificate was read again; it is valid until \(credentials.expiry)")
            warn(of: credentials, log)
        } catch {
            log.note("the former certificate stays: \(error.description)")
        }
    }

    /// Warns daily of a served certificate that clients refuse or that is about to expire, until the task is cancelled.
    /// The files may have a newer one, which SIGHUP has the server read.
    func watchExpiry(_ log: DevLog) async {
        while !Task.isCancelled {
            if let current = served.withLock({ $0.credentials }) { warn(of: current, log) }
            do { try await Task.sleep(for: .seconds(24 * 60 * 60)) } catch { return }
        }
    }

    private func warn(of credentials: TLSCredentials, _ log: DevLog) {
        for problem in credentials.problems(for: host) { log.note(problem) }
        if (0..<Self.warning).contains(credentials.expiry.timeIntervalSinceNow) {
            log.note("the certificate expires on \(credentials.expiry): renew it, then send SIGHUP")
        }
    }
}
