import Foundation
import NephosWire

/// A placeholder for a service that cannot be reached, as its address in the process's environment is invalid. Every request fails with the
/// reason.
final class MisconfiguredService: CloudService {
    private let failure: ServiceFailure

    init(_ reason: CloudKitEnvironment.Invalid) {
        failure = .transport(.badContainer, reason.description)
    }

    /// - Parameter reason: the reason, with what to do.
    init(_ reason: String) { failure = .transport(.badContainer, reason) }

    /// Creates the service of a database or container object that was created without a container.
    init(noContainerFor what: String) {
        failure = .transport(.badContainer, "This \(what) belongs to no container.")
    }

    var hasAccount: Bool { true }

    func send<Request, Response>(
        _: Endpoint<Request, Response>, _: Request, _: ServiceCall
    ) async throws(ServiceFailure) -> Response { throw failure }
    func upload(
        _: AssetContent, to _: String, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile { throw failure }
    func download(
        _: String, to _: URL, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) { throw failure }
    func nextNotification(_: TokenResponse, received: String?, _: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    { throw failure }
    var shareURLRoot: String { "" }
    var mayEscrowKeys: Bool { false }
    var sealsAssets: Bool { false }
    var assetCacheName: String? { nil }
}
