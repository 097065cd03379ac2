import Foundation
import FoundationNetworking
import NephosWire

/// CloudKit Web Services over HTTP: the only file that knows addresses and bytes.
final class HTTPService: CloudService {
    /// `…/database/1/CONTAINER/ENVIRONMENT`
    private let base: String
    /// `?ckAPIToken=…&ckWebAuthToken=…`
    private let credentials: String
    /// The service's address, for error messages.
    private let host: String
    let hasAccount: Bool

    /// The service of a container, where and as whom `environment` says.
    init(_ containerIdentifier: String, _ environment: CloudKitEnvironment) {
        host = environment.url.absoluteString
        var root = host
        while root.hasSuffix("/") { root.removeLast() }
        let container = Self.escaped(containerIdentifier)
        base = "\(root)/database/1/\(container)/\(environment.name.rawValue)"
        var credentials = "?ckAPIToken=" + Self.escaped(environment.apiToken)
        switch environment.account {
        case .token(let token):
            credentials += "&ckWebAuthToken=" + Self.escaped(token)
            hasAccount = true
        case .none:
            hasAccount = false
        }
        self.credentials = credentials
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

    // MARK: One request

    /// Sends `body` by POST, or nothing by GET, and decodes the answer.
    private func send<Answer: WireMessage>(
        _ path: StaticString, _ body: [UInt8]?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Answer {
        let text = "\(base)/\(call.scope.pathComponent)/\(path)\(credentials)"
        guard let url = URL(string: text) else {
            throw .transport(.badContainer, "\(base) is not an address a request can be sent to.")
        }
        var request = URLRequest(url: url)
        // The transport counts in whole seconds; no request may wait forever by rounding down to 0.
        request.timeoutInterval = max(1, call.requestTimeout.rounded(.up))
        if let body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body)
        }
        let (status, retryAfter, data) = try await exchange(request, limit: call.resourceTimeout)
        guard (200..<300).contains(status) else { throw failure(status, retryAfter, data) }
        do throws(WireError) {
            return try Answer(decoding: data)
        } catch {
            throw .transport(.internalError, "The answer of \(host) to \(path) is not CloudKit's: \(error).")
        }
    }

    /// Sends a request and gives its status, its `Retry-After` and its body.
    private func exchange(
        _ request: URLRequest, limit: TimeInterval?
    ) async throws(ServiceFailure) -> (status: Int, retryAfter: Double?, body: [UInt8]) {
        let exchange = HTTPExchange()
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
            return (response.statusCode, retryAfter, [UInt8](data))
        case .failure(let error):
            throw failure(error, timedOut: exchange.isOverLimit)
        }
    }

    // MARK: Failures

    /// What an answer that is no success says: an error dictionary, or else what its status stands for.
    private func failure(_ status: Int, _ retryAfter: Double?, _ body: [UInt8]) -> ServiceFailure {
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
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 16
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return URLSession(configuration: configuration)
    }()

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
        let task = Self.session.dataTask(with: request) { data, response, error in
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
