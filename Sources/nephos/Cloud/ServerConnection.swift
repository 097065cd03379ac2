import FoundationEssentials
import NephosHTTP
import NephosWire

/// The address of a server, `http://host:port` or with https.
struct ServerAddress: Hashable, CustomStringConvertible {
    /// The URL with its port, without a trailing slash.
    let description: String

    init(_ text: String) throws(UsageError) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = url.host, !host.isEmpty, url.query == nil,
            url.fragment == nil, url.user == nil, (1...65_535).contains(url.port ?? 80)
        else {
            throw UsageError(
                "'\(MaskedURL.wrong(text))' is not the address of a server: '--url' takes one like \(RemoteSchema.localURL)."
            )
        }
        var path = url.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        description = "\(scheme)://\(name):\(url.port ?? (scheme == "https" ? 443 : 80))\(path)"
    }
}

/// A connection that sends the requests of a command to a server. It blocks, so only the main thread of a command uses
/// it. Waiting for an answer has no time-out.
struct ServerConnection {
    /// The reason why the server did not answer.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Where a server listens.
    enum Place: Hashable, CustomStringConvertible {
        case address(ServerAddress)
        /// The path of a Unix socket.
        case socket(String)

        var description: String {
            switch self {
            case .address(let address): address.description
            case .socket(let path): path
            }
        }

        /// The root of the URLs of requests.
        fileprivate var root: String {
            switch self {
            case .address(let address): address.description
            case .socket: "http://localhost"
            }
        }
    }

    private static let client = HTTPClient()

    let place: Place
    /// The headers of every request.
    private let headers: [(name: String, value: String)]
    private let certificates: String?

    init(address: ServerAddress, _ credentials: ServerCredentials) { self.init(.address(address), credentials) }

    /// Creates a connection to a server on this machine.
    init(socket path: String, _ credentials: ServerCredentials) { self.init(.socket(path), credentials) }

    private init(_ place: Place, _ credentials: ServerCredentials) {
        self.place = place
        certificates = credentials.certificates
        let authorization = credentials.token.flatMap(AuthorizationHeader.value).map { (AuthorizationHeader.name, $0) }
        let accessToken = credentials.accessToken.map { ("X-Nephos-Access-Token", $0) }
        headers = [("\(AnswerAdditions.header)", "1")] + [authorization, accessToken].compactMap(\.self)
    }

    func post(_ target: String, _ body: [UInt8]) throws(Failure) -> (status: Int, body: [UInt8]) {
        try request(.post, target, body: body)
    }

    func get(_ target: String) throws(Failure) -> (status: Int, body: [UInt8]) {
        try request(.get, target)
    }

    /// - Parameter target: the path and query of the request.
    /// - Returns: the status and the body of the response.
    func request(
        _ method: HTTPRequest.Method, _ target: String, contentType: String = "application/json", body: [UInt8] = []
    ) throws(Failure) -> (status: Int, body: [UInt8]) {
        var request = HTTPRequest(method, place.root + target)
        if method == .post {
            request.headers = [("Content-Type", contentType)]
            request.body = .bytes(body)
        }
        let response = try send(request)
        return (response.status, response.body)
    }

    /// Sends a file in a POST request, streaming it from the disk.
    func upload(_ target: String, file: String) throws(Failure) -> (status: Int, body: [UInt8]) {
        var request = HTTPRequest(.post, place.root + target)
        request.headers = [("Content-Type", "application/octet-stream")]
        request.body = .file(path: file)
        let response = try send(request)
        return (response.status, response.body)
    }

    /// Downloads a file by a GET request, streaming it to the disk. Any status except success leaves no file and
    /// returns the body of the answer.
    func download(_ target: String, to file: String) throws(Failure) -> (status: Int, body: [UInt8]) {
        var request = HTTPRequest(.get, place.root + target)
        request.destination = .file(path: file)
        let response = try send(request)
        return (response.status, response.body)
    }

    /// Sends a GET request, and passes the body of a successful answer to `receive` as it arrives.
    func stream(
        _ target: String, _ receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) throws(Failure) -> (status: Int, body: [UInt8]) {
        var request = HTTPRequest(.get, place.root + target)
        request.destination = .chunks(receive: receive)
        let response = try send(request)
        return (response.status, response.body)
    }

    private func send(_ request: HTTPRequest) throws(Failure) -> HTTPResponse {
        var request = request
        request.headers += headers
        request.certificates = certificates
        if case .socket(let path) = place { request.unixSocket = path }
        let result = waiting { [request] () async -> Result<HTTPResponse, HTTPFailure> in
            do throws(HTTPFailure) {
                return .success(try await Self.client.send(request))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let response): return response
        case .failure(let failure): throw Failure(description: description(failure))
        }
    }

    private func description(_ failure: HTTPFailure) -> String {
        switch (failure.kind, place) {
        case (_, .socket): "the server cannot be reached: \(failure.reason)."
        case (.hostNotFound, _): "\(place) cannot be found: \(failure.reason)."
        case (.cannotConnect, _), (.networkDown, _):
            "no server answers at \(place): \(failure.reason). Start one with 'nephos dev', or give '--data' to "
                + "work on its directory."
        case (.notTrusted, _):
            "the certificate of \(place) is not trusted: \(failure.reason). Where an authority of your own has issued "
                + "it, NEPHOS_CA_FILE names the file of that authority's certificate."
        case (.noTLS, _):
            "the connection to \(place) failed: \(failure.reason). A server without TLS, as 'nephos dev' is, has an "
                + "address that begins with http://."
        default: "the connection to \(place) failed: \(failure.reason)."
        }
    }
}
