import CloudKit
import Foundation
import NephosWire

/// A stand-in for the service that answers only some requests: the others fail.
protocol PartialService: CloudService {
    /// Answers a request; nil fails it.
    func answer(_ request: any Sendable, _ path: String, _ call: ServiceCall) async throws(ServiceFailure)
        -> (any Sendable)?
}

extension PartialService {
    private var unknown: ServiceFailure { .transport(.internalError, "The stand-in does not know this request.") }

    var hasAccount: Bool { true }

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        guard let answer = try await answer(request, endpoint.path, call) as? Response else { throw unknown }
        return answer
    }
    func answer(_ request: any Sendable, _ path: String, _ call: ServiceCall) async throws(ServiceFailure)
        -> (any Sendable)?
    { nil }
    var shareURLRoot: String { "https://localhost/share/" }
    var mayEscrowKeys: Bool { false }
    func upload(
        _: AssetContent, to _: String, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile { throw unknown }
    func download(
        _: String, to _: URL, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) { throw unknown }
    var sealsAssets: Bool { false }
    var assetCacheName: String? { nil }
    func nextNotification(_: TokenResponse, received: String?, _: ServiceCall) async throws(ServiceFailure)
        -> NotificationPayload?
    { throw unknown }
}
