package import Foundation
import NephosThreads
package import NephosWire

/// CloudKit's interface to its service: typed requests about one container, as one account or without an account.
///
/// `HTTPService` sends the requests to a server. `CloudKitLocal` answers them in the process of the caller.
package protocol CloudService: AnyObject, Sendable {
    /// Whether requests are made as an account. Without an account, only the public database can be read.
    var hasAccount: Bool { get }
    /// The advice on how to sign in, as part of a sentence in the error for requests that need an account.
    var signInAdvice: String { get }
    /// The container's environment.
    var environmentName: CloudKitEnvironment.Name { get }

    /// The time in milliseconds of the clock that the pauses follow for which the service asks.
    var uptime: Int64 { get }

    /// Runs the library's tasks of a simulated device; nil for other devices.
    var simulatedExecutor: (any SimulatedExecutor)? { get }
    /// A call waits for the work of another one, on a simulated device.
    func callWaits()
    func callGoesOn()

    /// Sends a request to an endpoint, and returns the answer.
    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response

    /// Whether the service refuses what is not part of Apple's API.
    var refusesAdditions: Bool { get }

    /// The part of a share's URL before the short GUID.
    var shareURLRoot: String { get }
    /// Whether the service may have the keys of the account if it offers to escrow them. Only a service on this machine
    /// may.
    var mayEscrowKeys: Bool { get }

    /// The store of this device's keys.
    var keyStore: any DeviceKeyStore { get }

    /// Uploads the bytes of an asset to an address that `assetUploads` returned.
    /// - Parameter progress: called with the number of bytes that were sent so far.
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile
    /// Downloads the file at a `downloadURL` to the path `file`, at which no file may exist. After a failure a partial
    /// file may be left.
    /// - Parameter progress: called with the number of bytes that were received so far.
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure)
    /// Whether asset files are sealed where possible (`CloudKitEnvironment.sealsAssets`).
    var sealsAssets: Bool { get }
    /// A name that distinguishes the service in the file cache; nil if caching its files has no benefit.
    var assetCacheName: String? { get }

    /// Waits for a notification by one poll of the token's courier. Returns early if the task is cancelled.
    ///
    /// The service keeps a notification until the client acknowledges it. So the caller calls again at once with the
    /// identifier of the notification.
    /// - Parameters:
    ///   - token: the answer to `tokens/create` or `tokens/register`.
    ///   - received: the `notificationID` that the previous poll returned; nil if it returned none.
    /// - Returns: the notification; nil if none arrived while the service held the poll, which is less than a minute.
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload?
}

extension CloudService {
    package var uptime: Int64 { MonotonicTime.now.milliseconds }
    package var simulatedExecutor: (any SimulatedExecutor)? { nil }
    package func callWaits() {}
    package func callGoesOn() {}

    /// Runs the library's tasks of the container.
    var executor: any TaskExecutor { simulatedExecutor ?? LibraryExecutor.shared }

    /// Sends a request to an endpoint that takes no message.
    package func send<Response>(
        _ endpoint: Endpoint<EmptyRequest, Response>, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        try await send(endpoint, EmptyRequest(), call)
    }

    /// False: only a test's own service refuses it before a request.
    package var refusesAdditions: Bool { false }

    /// The default store: files in the directory that the process's environment names.
    package var keyStore: any DeviceKeyStore { FileKeyStore.ofProcess }
    /// The name that distinguishes the service in the names of a key store's items.
    package var keyItemName: String { shareURLRoot }

    package var environmentName: CloudKitEnvironment.Name { .development }

    /// The advice for a server: the variables in the environment of the process.
    package var signInAdvice: String {
        "set NEPHOS_TOKEN to the account's token (dev:NAME for a local service), or CloudKitEnvironment.current in code"
    }
}

/// The parameters that every request has.
package struct ServiceCall: Sendable {
    /// The database that the request concerns.
    package var scope: CKDatabase.Scope
    /// The idle time-out in seconds: the maximum time without any data from the service.
    package var requestTimeout: TimeInterval
    /// The maximum time in seconds for the whole request; nil for no limit.
    package var resourceTimeout: TimeInterval?
    /// Whether a sync engine sends it for its own state, and not for what the app asked.
    package let isOfSyncEngine = Self.isOfSyncEngine

    @TaskLocal static var isOfSyncEngine = false

    /// The time-outs of the operation that the task works for. What the operation needs besides its own requests, such as
    /// keys, has them too.
    struct Times {
        var request: TimeInterval
        var resource: TimeInterval?

        init(_ values: ConfigurationValues) {
            request = values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout
            resource = values.resourceTimeout
        }
    }

    @TaskLocal static var times: Times?

    package init(scope: CKDatabase.Scope, requestTimeout: TimeInterval? = nil, resourceTimeout: TimeInterval? = nil) {
        self.scope = scope
        self.requestTimeout =
            requestTimeout ?? Self.times?.request ?? ConfigurationValues.defaultRequestTimeout
        self.resourceTimeout = resourceTimeout ?? Self.times?.resource
    }

    init(scope: CKDatabase.Scope, _ values: ConfigurationValues) {
        let times = Times(values)
        self.init(scope: scope, requestTimeout: times.request, resourceTimeout: times.resource)
    }
}

/// The reason why a whole request failed.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The service refused the request.
    case refused(ErrorDictionary)
    /// The request or its answer was not delivered, or the answer is not from the service. The values are the error
    /// code for the client, a description, and the delay in seconds before a retry (nil for none).
    case transport(CKError.Code, String, retryAfter: Double? = nil)
    /// The caller cancelled the request.
    case cancelled
}
