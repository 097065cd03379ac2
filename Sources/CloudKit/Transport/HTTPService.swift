import Foundation
import NephosHTTP
import NephosWire
import Synchronization

/// CloudKit Web Services over HTTP. No other file handles addresses and bytes.
final class HTTPService: CloudService {
    /// The address of the service without a trailing slash.
    private let root: String
    /// The path of the container, `/1/CONTAINER/ENVIRONMENT`.
    private let container: String
    /// The query of every request, `?ckAPIToken=…&clientId=…`.
    private let query: String
    /// The headers of every request to the service: its additions are asked for, and the account's token is sent.
    private let headers: [(name: String, value: String)]
    /// The headers of a request with a message.
    private let messageHeaders: [(name: String, value: String)]
    /// The file of the certificates that are trusted for the service; nil for the system's.
    private let certificates: String?
    /// The address of the service as error messages show it.
    private let host: String
    /// Whether the service has refused the account's token, because its session is over.
    private let isSignedOut = Atomic(false)
    let hasAccount: Bool
    let environmentName: CloudKitEnvironment.Name

    /// Creates the service of a container, with the address and the account of `environment`.
    /// - Throws: `Invalid` if requests cannot carry the account's token, or if the file of authorities cannot be used.
    init(_ containerIdentifier: String, _ environment: CloudKitEnvironment) throws(CloudKitEnvironment.Invalid) {
        host = environment.url.absoluteString
        environmentName = environment.name
        var root = host
        while root.hasSuffix("/") { root.removeLast() }
        self.root = root
        container = "/1/\(Self.escaped(containerIdentifier))/\(environment.name.rawValue)"
        let authorization = try environment.authorization()
        hasAccount = authorization != nil
        headers =
            Self.additions + (authorization.map { [(AuthorizationHeader.name, $0)] } ?? [])
            + (try environment.accessTokenHeader())
        messageHeaders = [("Content-Type", "application/json")] + headers
        certificates = try environment.certificates()
        mayEscrowKeys = environment.isLocalService
        sealsAssets = environment.sealsAssets
        keyStore =
            environment.keyStore
            ?? FileKeyStore(
                directory: environment.keyDirectory?.path
                    ?? FileKeyStore.directory(ProcessInfo.processInfo.environment))
        // By the client ID, the service recognises the changes of this client, so that it need not notify the client of
        // them.
        query = "?ckAPIToken=\(Self.escaped(environment.apiToken))&clientId=\(UUID().uuidString)"
    }

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        do throws(ServiceFailure) {
            return try await sent(endpoint, request, call)
        } catch {
            noteEndOfSession(error)
            throw error
        }
    }

    /// Posts `CKAccountChanged` at the first refusal of the account's token: from then on `accountStatus` is
    /// `temporarilyUnavailable`, as the user has to sign in again.
    private func noteEndOfSession(_ failure: ServiceFailure) {
        guard hasAccount, case .refused(let error) = failure, error.serverErrorCode == .authenticationRequired,
            !isSignedOut.exchange(true, ordering: .relaxed)
        else { return }
        // Only containers outside of tests' clouds reach a server.
        AccountChangeOrigin(scope: nil).post()
    }

    private func sent<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        let address = address(endpoint, call)
        var isIdempotent = true
        var request = request
        switch endpoint.retry {
        case .never: isIdempotent = false
        case .idempotent: break
        case .requestKey(let key):
            request[keyPath: key] = ModifyRecordsRequest.makeRequestKey(now: Int64(Date().timeIntervalSince1970 * 1000))
            let sent = post(to: address, request.encoded(), isIdempotent: true)
            return try decode(try await retried(sent, call).body, address)
        }
        let sent =
            request is EmptyRequest
            ? ownRequest(.get, address, headers, isIdempotent: isIdempotent)
            : post(to: address, request.encoded(), isIdempotent: isIdempotent)
        return try decode(try await exchange(sent, call, over: Self.requests).body, address)
    }

    private func address<Request, Response>(_ endpoint: Endpoint<Request, Response>, _ call: ServiceCall) -> String {
        switch endpoint.module {
        case .database: "\(root)/database\(container)/\(call.scope.pathComponent)/\(endpoint.path)\(query)"
        case .device: "\(root)/device\(container)/\(endpoint.path)\(query)"
        }
    }

    /// Sends a request with a request key. If no answer arrives, the request is sent again with the same key, because
    /// the service may have executed it.
    private func retried(_ request: HTTPRequest, _ call: ServiceCall) async throws(ServiceFailure) -> HTTPResponse {
        var isInDoubt = false
        for pause in Self.retryPauses {
            do throws(Undelivered) {
                return try await attempt(request, call, over: Self.requests)
            } catch {
                isInDoubt = isInDoubt || error.mayHaveBeenCarriedOut
                // While one server shuts down, no server may answer until its successor has started.
                guard isInDoubt, error.mayPass else { throw error.failure }
                do { try await Task.sleep(for: max(pause, error.askedPause)) } catch { throw .cancelled }
            }
        }
        return try await exchange(request, call, over: Self.requests)
    }

    /// The pauses before the retries of a request without an answer.
    private static let retryPauses: [Duration] = [.milliseconds(100), .milliseconds(400), .milliseconds(1600)]

    var shareURLRoot: String { root + "/share/" }

    let mayEscrowKeys: Bool
    let keyStore: any DeviceKeyStore

    // MARK: Assets

    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        var request = assetRequest(.post, address)
        request.headers.append(("Content-Type", "application/octet-stream"))
        if let sealed = content.sealed {
            request.body = .chunks(length: content.size) { try await sealed.next() }
        } else {
            request.body = .file(path: content.file.path)
        }
        request.progress = { progress($0.sent) }
        return try decode(try await exchange(request, call, over: Self.transfers).body, request.url)
    }

    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        var request = assetRequest(.get, address)
        request.destination = .file(path: file.path)
        request.progress = { progress($0.received) }
        _ = try await exchange(request, call, over: Self.transfers)
    }

    let sealsAssets: Bool

    var assetCacheName: String? { "\(root)\(container)" }

    /// Returns the request for an address from the service. The root of the service's own addresses is replaced with the
    /// configured root, because the service's own host name may not be reachable. Any other address belongs to another
    /// server, which does not receive the account's token.
    private func assetRequest(_ method: HTTPRequest.Method, _ address: String) -> HTTPRequest {
        guard let path = AssetLocation.path(of: address) else {
            return HTTPRequest(method, address, headers: Self.additions)
        }
        return ownRequest(method, root + path, headers)
    }

    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        // The poll uses the configured root, as all requests do, because the service's own host name may not be
        // reachable.
        let path = token.webcourierURL.wholeMatch(of: /https?:\/\/[^\/]*(\/.*)/).map { String($0.1) }
        let mark = path?.contains("?") == true ? "&" : "?"
        // Because of this acknowledgement, the service sends a notification again if its answer was lost.
        let text = "\(root)\(path ?? token.webcourierURL)\(mark)nephosReceived=\(Self.escaped(received ?? "none"))"
        // The address contains the secret of the poll, which replaces the account's token.
        let poll = ownRequest(.get, text, Self.additions, isIdempotent: true)
        let body = try await exchange(poll, call, over: Self.polls).body
        // An empty body means that the poll timed out.
        if body.isEmpty || body.starts(with: "{}".utf8) { return nil }
        return try decode(body, text)
    }

    // MARK: One request

    /// The HTTP client for requests, which all containers share.
    private static let requests = HTTPClient(connectionsPerHost: 16)
    /// The HTTP client for long polls, which would otherwise use up the connections of other requests.
    private static let polls = HTTPClient(requestsAtOnce: 1_000, connectionsPerHost: 1_000)
    /// The HTTP client for file transfers, which take long.
    private static let transfers = HTTPClient()

    private func post(to address: String, _ body: [UInt8], isIdempotent: Bool) -> HTTPRequest {
        var request = ownRequest(.post, address, messageHeaders, isIdempotent: isIdempotent)
        request.body = .bytes(body)
        return request
    }

    /// Returns a request to the service, whose certificate is checked against the authorities of the environment.
    private func ownRequest(
        _ method: HTTPRequest.Method, _ address: String, _ headers: [(name: String, value: String)],
        isIdempotent: Bool? = nil
    ) -> HTTPRequest {
        var request = HTTPRequest(method, address, headers: headers, isIdempotent: isIdempotent)
        request.certificates = certificates
        return request
    }

    private static let additions: [(name: String, value: String)] = [("\(AnswerAdditions.header)", "1")]

    /// Sends a request and returns its response.
    /// - Throws: also an error for any status except success.
    private func exchange(
        _ request: HTTPRequest, _ call: ServiceCall, over client: HTTPClient
    ) async throws(ServiceFailure) -> HTTPResponse {
        do throws(Undelivered) {
            return try await attempt(request, call, over: client)
        } catch {
            throw error.failure
        }
    }

    /// The reason why a request got no successful response.
    private struct Undelivered: Error {
        var failure: ServiceFailure
        /// Whether the service may have received the request although no response arrived.
        var isAnswerLost: Bool
        /// Whether a retry fails too, because the certificate of the service is not trusted.
        var isLasting = false

        /// Whether the service may have executed the request.
        var mayHaveBeenCarriedOut: Bool { isAnswerLost || isPassing }

        /// Whether a retry may succeed.
        var mayPass: Bool {
            if case .transport(.networkFailure, _, _) = failure { !isLasting } else { isAnswerLost || isPassing }
        }

        /// The pause that the service asks for.
        var askedPause: Duration {
            guard case .refused(let error) = failure else { return .zero }
            // A request that is sent again waits for a second at most (`isPassing`); a server may send any number.
            return .seconds(min(max(error.retryAfter ?? 0, 0), 1))
        }

        /// Whether the server could not tell the outcome or is shutting down. Another server may then answer at once.
        private var isPassing: Bool {
            guard case .refused(let error) = failure else { return false }
            return error.clientErrorCode == CKError.Code.serviceUnavailable.rawValue
                && (error.retryAfter.map { $0 <= 1 } ?? false)
        }
    }

    private func attempt(
        _ request: HTTPRequest, _ call: ServiceCall, over client: HTTPClient
    ) async throws(Undelivered) -> HTTPResponse {
        var request = request
        // Without a valid time-out the request would wait for ever, so it gets one second.
        request.silenceLimit = Self.duration(call.requestTimeout) ?? .seconds(1)
        if let limit = call.resourceTimeout, limit < ConfigurationValues.defaultResourceTimeout {
            request.totalLimit = Self.duration(limit) ?? .seconds(1)
        }
        request.redirectLimit = 5
        let response: HTTPResponse
        do throws(HTTPFailure) {
            response = try await client.send(request)
        } catch {
            let isAnswerLost = [.connectionLost, .body, .system].contains(error.kind)
            throw Undelivered(
                failure: failure(error), isAnswerLost: isAnswerLost, isLasting: error.kind == .notTrusted)
        }
        guard (200..<300).contains(response.status) else {
            let failure = self.failure(response)
            var isAnswerLost = [502, 503, 504].contains(response.status)
            if case .refused = failure { isAnswerLost = false }
            throw Undelivered(failure: failure, isAnswerLost: isAnswerLost)
        }
        return response
    }

    private func decode<Answer: WireMessage>(_ body: [UInt8], _ address: String) throws(ServiceFailure) -> Answer {
        do throws(WireError) {
            return try Answer(decoding: body)
        } catch {
            let path = address.dropFirst(root.count).prefix { $0 != "?" }
            throw .transport(
                .networkFailure, "The answer of \(host) to \(path) is not CloudKit's: \(error). \(Self.strangerAdvice)")
        }
    }

    /// Returns a duration of at most a year; nil for an invalid number of seconds.
    private static func duration(_ seconds: TimeInterval) -> Duration? {
        seconds > 0 ? .seconds(min(seconds, 365 * 86_400)) : nil
    }

    // MARK: Failures

    /// Converts an unsuccessful response to a failure, by its error dictionary. A response without one is not the
    /// service's: a proxy or another program refuses neither the account nor a change, and the request may be retried.
    private func failure(_ response: HTTPResponse) -> ServiceFailure {
        if let error = try? ErrorDictionary(decoding: response.body) { return .refused(error) }
        let code: CKError.Code =
            switch response.status {
            case 429: .requestRateLimited
            case 500...: .serviceUnavailable
            default: .networkFailure
            }
        return .transport(
            code,
            "\(host) answered with HTTP status \(response.status) and not as CloudKit does. \(Self.strangerAdvice)",
            retryAfter: response.header("Retry-After").flatMap(Double.init))
    }

    /// Converts a transport error to a failure.
    private func failure(_ failure: HTTPFailure) -> ServiceFailure {
        switch failure.kind {
        case .cancelled:
            .cancelled
        case .networkDown:
            .transport(.networkUnavailable, "There is no network to reach \(host) with.")
        case .hostNotFound:
            .transport(.networkUnavailable, "The host of \(host) could not be found.")
        case .cannotConnect:
            .transport(
                .networkFailure,
                "Nothing answers at \(host). Start the local service with `make run` in a checkout of Nephos, or with"
                    + " `nephos dev`; NEPHOS_URL names another service.")
        case .silence:
            .transport(.networkFailure, "\(host) did not answer in time.")
        case .totalTime:
            .transport(.networkFailure, "\(host) did not answer in the time that was set.")
        case .invalidRequest:
            .transport(.badContainer, "\(root)\(container) is not an address a request can be sent to.")
        case .notTrusted:
            .transport(
                .networkFailure,
                "The service's certificate is not trusted: \(host), \(failure.reason). Where an authority of your own has"
                    + " issued it, NEPHOS_CA_FILE or CloudKitEnvironment.certificateAuthorities names the file of that"
                    + " authority's certificate.")
        case .noTLS:
            .transport(
                .networkFailure,
                "The connection to \(host) failed: \(failure.reason). Where the service speaks plain HTTP, its address begins"
                    + " with http://.")
        case .connectionLost where host.hasPrefix("http:"):
            .transport(
                .networkFailure,
                "The connection to \(host) failed: \(failure.reason). Where the service speaks TLS, its address begins with"
                    + " https://.")
        case .closed, .connectionLost, .body, .system:
            .transport(.networkFailure, "The connection to \(host) failed: \(failure.reason)")
        }
    }

    /// The advice for an answer that does not come from the service.
    private static let strangerAdvice =
        "Where another program listens there, start the service on a free port, and name that in NEPHOS_URL."

    /// Percent-encodes the characters that have a meaning in addresses.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension CKDatabase.Scope {
    /// The name of the scope in addresses.
    fileprivate var pathComponent: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }
}
