import Foundation
import FoundationNetworking
import NephosWire

/// CloudKit Web Services over HTTP: the only file that knows addresses and bytes.
final class HTTPService: CloudService {
    /// The service's address without a slash at its end.
    private let root: String
    /// `/1/CONTAINER/ENVIRONMENT`
    private let container: String
    /// `?ckAPIToken=…&ckWebAuthToken=…&clientId=…`
    private let credentials: String
    /// The service's address, for error messages.
    private let host: String
    let hasAccount: Bool

    /// The service of a container, where and as whom `environment` says.
    init(_ containerIdentifier: String, _ environment: CloudKitEnvironment) {
        host = environment.url.absoluteString
        var root = host
        while root.hasSuffix("/") { root.removeLast() }
        self.root = root
        container = "/1/\(Self.escaped(containerIdentifier))/\(environment.name.rawValue)"
        var credentials = "?ckAPIToken=" + Self.escaped(environment.apiToken)
        switch environment.account {
        case .token(let token):
            credentials += "&ckWebAuthToken=" + Self.escaped(token)
            hasAccount = true
        case .none:
            hasAccount = false
        }
        // By the client's ID the service knows whose changes not to tell it of.
        self.credentials = credentials + "&clientId=" + UUID().uuidString
    }

    func modifyRecords(_ request: ModifyRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await send("records/modify", request.encoded(), call)
    }

    func lookupRecords(_ request: LookupRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordsResponse
    {
        try await send("records/lookup", request.encoded(), call)
    }

    func queryRecords(_ request: QueryRecordsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> QueryRecordsResponse
    {
        try await send("records/query", request.encoded(), call)
    }

    func listZones(_ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await send("zones/list", nil, call)
    }

    func lookupZones(_ request: LookupZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await send("zones/lookup", request.encoded(), call)
    }

    func modifyZones(_ request: ModifyZonesRequest, _ call: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        try await send("zones/modify", request.encoded(), call)
    }

    func recordZoneChanges(_ request: RecordZoneChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    {
        try await send("changes/zone", request.encoded(), call)
    }

    func databaseChanges(_ request: DatabaseChangesRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    {
        try await send("changes/database", request.encoded(), call)
    }

    func currentUser(_ call: ServiceCall) async throws(ServiceFailure) -> UserDictionary {
        try await send("users/current", nil, call)
    }

    // MARK: Subscriptions

    func listSubscriptions(_ call: ServiceCall) async throws(ServiceFailure) -> SubscriptionsResponse {
        try await send("subscriptions/list", nil, call)
    }

    func lookupSubscriptions(_ request: LookupSubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await send("subscriptions/lookup", request.encoded(), call)
    }

    func modifySubscriptions(_ request: ModifySubscriptionsRequest, _ call: ServiceCall) async throws(ServiceFailure)
        -> SubscriptionsResponse
    {
        try await send("subscriptions/modify", request.encoded(), call)
    }

    func createToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await send(address: "\(root)/device\(container)/tokens/create\(credentials)", request.encoded(), call)
    }

    func registerToken(_ request: TokenRequest, _ call: ServiceCall) async throws(ServiceFailure) -> TokenResponse {
        try await send(address: "\(root)/device\(container)/tokens/register\(credentials)", request.encoded(), call)
    }

    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        // The service, wherever its own host name leads, is reached as for every other request.
        let path = token.webcourierURL.wholeMatch(of: /https?:\/\/[^\/]*(\/.*)/).map { String($0.1) }
        let mark = path?.contains("?") == true ? "&" : "?"
        // The service takes no poll for a receipt that says what it received.
        let text = "\(root)\(path ?? token.webcourierURL)\(mark)nephosReceived=\(Self.escaped(received ?? "none"))"
        let data = try await bytes(address: text, nil, call, over: HTTPExchange.polls)
        // The time is over.
        if data.isEmpty || data == Data("{}".utf8) { return nil }
        return try decode(data, text)
    }

    // MARK: One request

    /// Sends `body` by POST, or nothing by GET, and decodes the answer.
    private func send<Answer: WireMessage>(
        _ path: StaticString, _ body: [UInt8]?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Answer {
        try await send(
            address: "\(root)/database\(container)/\(call.scope.pathComponent)/\(path)\(credentials)", body, call)
    }

    private func send<Answer: WireMessage>(
        address: String, _ body: [UInt8]?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Answer {
        try decode(try await bytes(address: address, body, call), address)
    }

    private func bytes(
        address: String, _ body: [UInt8]?, _ call: ServiceCall, over session: URLSession = HTTPExchange.requests
    ) async throws(ServiceFailure) -> Data {
        guard let url = URL(string: address) else {
            throw .transport(.badContainer, "\(root)\(container) is not an address a request can be sent to.")
        }
        var request = URLRequest(url: url)
        // The transport counts in whole seconds; no request may wait forever by rounding down to 0.
        request.timeoutInterval = max(1, call.requestTimeout.rounded(.up))
        if let body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body)
        }
        let (status, retryAfter, data) = try await exchange(request, limit: call.resourceTimeout, session)
        guard (200..<300).contains(status) else { throw failure(status, retryAfter, data) }
        return data
    }

    private func decode<Answer: WireMessage>(_ data: Data, _ address: String) throws(ServiceFailure) -> Answer {
        do throws(WireError) {
            return try Answer(decoding: data)
        } catch {
            let path = address.dropFirst(root.count).prefix { $0 != "?" }
            throw .transport(.internalError, "The answer of \(host) to \(path) is not CloudKit's: \(error).")
        }
    }

    /// Sends a request and gives its status, its `Retry-After` and its body.
    private func exchange(
        _ request: URLRequest, limit: TimeInterval?, _ session: URLSession
    ) async throws(ServiceFailure) -> (status: Int, retryAfter: Double?, body: Data) {
        let exchange = HTTPExchange(session)
        let result: Result<(Data, URLResponse), any Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchange.run(request, limit: limit) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            exchange.cancel()
        }
        switch result {
        case .success((let data, let response)):
            guard let response = response as? HTTPURLResponse else {
                throw .transport(.networkFailure, "\(host) did not answer in HTTP.")
            }
            let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init)
            return (response.statusCode, retryAfter, data)
        case .failure(let error):
            throw failure(error, timedOut: exchange.isOverLimit)
        }
    }

    // MARK: Failures

    /// What an answer that is no success says: an error dictionary, or else what its status stands for.
    private func failure(_ status: Int, _ retryAfter: Double?, _ body: Data) -> ServiceFailure {
        if let error = try? ErrorDictionary(decoding: body) { return .refused(error) }
        let code: CKError.Code =
            switch status {
            case 401, 421: .notAuthenticated
            case 403: .permissionFailure
            case 413: .limitExceeded
            case 429: .requestRateLimited
            case 502, 503, 504: .serviceUnavailable
            case 500...: .internalError
            default: .serverRejectedRequest
            }
        return .transport(
            code, "\(host) answered with HTTP status \(status) and not as CloudKit does.", retryAfter: retryAfter)
    }

    /// What kept a request from getting through.
    private func failure(_ error: any Error, timedOut: Bool) -> ServiceFailure {
        if timedOut { return .transport(.networkFailure, "\(host) did not answer in the time that was set.") }
        guard let error = error as? URLError else {
            return .transport(.networkFailure, "\(host) could not be reached: \(error.localizedDescription)")
        }
        switch error.code {
        case .cancelled:
            return .cancelled
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff:
            return .transport(.networkUnavailable, "There is no network to reach \(host) with.")
        case .cannotFindHost, .dnsLookupFailed:
            return .transport(.networkUnavailable, "The host of \(host) could not be found.")
        case .cannotConnectToHost:
            return .transport(
                .networkFailure, "Nothing answers at \(host). The local service is started with `make run`.")
        case .timedOut:
            return .transport(.networkFailure, "\(host) did not answer in time.")
        default:
            return .transport(.networkFailure, "The connection to \(host) failed: \(error.localizedDescription)")
        }
    }

    /// Percent-encodes what must not be read as part of an address.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

/// One request on its way. Cancelling it and its time limit end it early, at any moment.
private final class HTTPExchange: Sendable {
    /// All containers share its connections.
    static let requests = session(connections: 16)
    /// For requests that wait for something to happen: they would take the others' connections.
    static let polls = session(connections: 1_000)

    private static func session(connections: Int) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return URLSession(configuration: configuration)
    }

    private let session: URLSession

    init(_ session: URLSession) { self.session = session }

    private struct State {
        var task: URLSessionDataTask?
        var isCancelled = false
        var isOverLimit = false
    }

    private let state = Locked(State())

    var isOverLimit: Bool { state.isOverLimit }

    /// Calls `completion` once.
    func run(
        _ request: URLRequest, limit: TimeInterval?,
        _ completion: @escaping @Sendable (Result<(Data, URLResponse), any Error>) -> Void
    ) {
        let task = session.dataTask(with: request) { data, response, error in
            if let data, let response, error == nil {
                completion(.success((data, response)))
            } else {
                completion(.failure(error ?? URLError(.unknown)))
            }
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        task.resume()
        if isCancelled { task.cancel() }
        guard let limit, limit < ConfigurationValues.defaultResourceTimeout else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit) { [weak self] in
            self?.state.withLock { $0.isOverLimit = true }
            self?.cancel()
        }
    }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            return state.task
        }?.cancel()
    }
}

extension CKDatabase.Scope {
    /// How addresses name it.
    fileprivate var pathComponent: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }
}
