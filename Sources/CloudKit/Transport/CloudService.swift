package import Foundation
package import NephosWire

/// CloudKit's interface to its service: typed requests about one container, as one account or as none.
///
/// `HTTPService` sends them to a server; `CloudKitLocal` answers them in the caller's process.
package protocol CloudService: AnyObject, Sendable {
    /// Whether requests are made as an account. Without one only the public database can be read.
    var hasAccount: Bool { get }
    /// How to sign in, as part of a sentence in the error for requests that need an account.
    var signInAdvice: String { get }
    /// The container's environment.
    var environmentName: CloudKitEnvironment.Name { get }

    /// Sends a request to an endpoint.
    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response

    /// The part of a share's URL before its short GUID.
    var shareURLRoot: String { get }
    /// Whether a service that offers to escrow the account's keys may have them: only a service on this machine may.
    var mayEscrowKeys: Bool { get }

    /// The key store of the devices.
    var keyStore: any DeviceKeyStore { get }

    /// Sends the bytes of an asset to an address of `assetUploads`.
    /// - Parameter progress: called with the number of bytes sent.
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile
    /// Downloads the file at a `downloadURL` to `file`, which must not exist yet. A failure may leave a partial file.
    /// - Parameter progress: called with the number of bytes received.
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure)
    /// Whether asset files are sealed, if possible (`CloudKitEnvironment.sealsAssets`).
    var sealsAssets: Bool { get }
    /// A name that distinguishes the service in the file cache; nil if caching has no benefit.
    var assetCacheName: String? { get }

    /// Waits for a notification: one poll of the token's courier. Returns early if the task is cancelled.
    ///
    /// The service keeps a notification until it is acknowledged: call again at once, with its identifier.
    /// - Parameters:
    ///   - token: the response of `tokens/create` or `tokens/register`.
    ///   - received: the `notificationID` that the previous poll returned; nil if it returned none.
    /// - Returns: nil if none arrived while the service held the poll, which is under a minute.
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload?
}

extension CloudService {
    /// Sends a request to an endpoint that takes no message.
    package func send<Response>(
        _ endpoint: Endpoint<EmptyRequest, Response>, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        try await send(endpoint, EmptyRequest(), call)
    }

    /// Files in the directory given by the process's environment.
    package var keyStore: any DeviceKeyStore {
        FileKeyStore(directory: FileKeyStore.directory(ProcessInfo.processInfo.environment))
    }
    /// Distinguishes the service in the names of the store's items.
    package var keyItemName: String { shareURLRoot }

    package var environmentName: CloudKitEnvironment.Name { .development }

    /// The advice for a server: the settings of the process's environment.
    package var signInAdvice: String {
        "set NEPHOS_TOKEN to the account's token (dev:NAME for a local service), or CloudKitEnvironment.current in code"
    }
}

/// The parameters of every request.
package struct ServiceCall: Sendable {
    /// The database the request is about.
    package var scope: CKDatabase.Scope
    /// Seconds for which the service may stay silent.
    package var requestTimeout: TimeInterval
    /// Seconds for the whole request; nil means no limit.
    package var resourceTimeout: TimeInterval?

    package init(scope: CKDatabase.Scope, requestTimeout: TimeInterval = 60, resourceTimeout: TimeInterval? = nil) {
        self.scope = scope
        self.requestTimeout = requestTimeout
        self.resourceTimeout = resourceTimeout
    }
}

/// The reason a whole request failed.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The service refused the request.
    case refused(ErrorDictionary)
    /// The request did not get through, or the response is not the service's: the client's error code, a description,
    /// and the seconds after which to retry.
    case transport(CKError.Code, String, retryAfter: Double? = nil)
    /// The caller cancelled the request.
    case cancelled
}
