import Foundation
import NephosWire
import Synchronization

/// A service that is bound to one account. It forwards requests until the account changes, and refuses them from then
/// on. Every request of an account passes through this gate. So work that started as one account sends nothing after
/// the switch.
///
/// A request that is in progress at the switch is still answered, because the service may have executed it. File
/// transfers are cancelled.
final class AccountService: CloudService {
    private struct State: Sendable {
        var hasEnded = false
        /// The closures that cancel the file transfers in progress.
        var transfers: [UUID: @Sendable () -> Void] = [:]
    }

    private let service: any CloudService
    private let state = Locked(State())
    private let throttle: Throttle

    init(_ service: any CloudService) {
        self.service = service
        throttle = Throttle { service.uptime }
    }

    /// The failure of work that started as another account. It is not `notAuthenticated`, which asks a person to sign
    /// in. Nor is it `accountTemporarilyUnavailable`, after which an app retries, because the retry would write into
    /// the next account's database.
    static let accountChanged = ServiceFailure.transport(
        .operationCancelled,
        "Another account was signed in meanwhile, or none: what began as one account does not go on as another.")

    var hasEnded: Bool { state.hasEnded }
    var simulatedExecutor: (any SimulatedExecutor)? { service.simulatedExecutor }
    func callWaits() { service.callWaits() }
    func callGoesOn() { service.callGoesOn() }

    /// Refuses all further requests, and cancels the file transfers.
    func end() {
        let transfers = state.withLock { state in
            state.hasEnded = true
            return Array(state.transfers.values)
        }
        for cancel in transfers { cancel() }
    }

    private func pass<Answer>(
        _ request: (any CloudService) async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        if hasEnded { throw Self.accountChanged }
        return try await request(service)
    }

    /// Forwards a file transfer, and cancels it when the account changes.
    private func transfer<Answer: Sendable>(
        _ request: @escaping @Sendable (any CloudService) async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        let id = UUID()
        let begun = state.withLock { state -> Task<Result<Answer, ServiceFailure>, Never>? in
            if state.hasEnded { return nil }
            let task = Task(executorPreference: executor) {
                [service] () -> Result<Answer, ServiceFailure> in
                do throws(ServiceFailure) {
                    return .success(try await request(service))
                } catch {
                    return .failure(error)
                }
            }
            state.transfers[id] = { task.cancel() }
            return task
        }
        guard let task = begun else { throw Self.accountChanged }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        let hasEnded = state.withLock { state in
            state.transfers[id] = nil
            return state.hasEnded
        }
        if case .failure = result, hasEnded { throw Self.accountChanged }
        return try result.get()
    }

    var hasAccount: Bool { service.hasAccount }
    var refusesAdditions: Bool { service.refusesAdditions }
    var signInAdvice: String { service.signInAdvice }
    var environmentName: CloudKitEnvironment.Name { service.environmentName }
    var shareURLRoot: String { service.shareURLRoot }
    var mayEscrowKeys: Bool { service.mayEscrowKeys }
    var keyStore: any DeviceKeyStore { service.keyStore }
    var sealsAssets: Bool { service.sealsAssets }
    var assetCacheName: String? { service.assetCacheName }

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        try await pass { (to) throws(ServiceFailure) in
            // What came before the request, such as an enrolment that several tasks await, may not end with the task.
            if Task.isCancelled { throw .cancelled }
            try throttle.check(endpoint.path)
            do throws(ServiceFailure) {
                return try await to.send(endpoint, request, call)
            } catch {
                throttle.note(error, of: endpoint.path)
                throw error
            }
        }
    }
    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        try await pass { (to) throws(ServiceFailure) in
            try await to.nextNotification(token, received: received, call)
        }
    }
    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        try await transfer { (to) throws(ServiceFailure) in
            try await to.upload(content, to: address, call, progress: progress)
        }
    }
    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        try await transfer { (to) throws(ServiceFailure) in
            try await to.download(address, to: file, call, progress: progress)
        }
    }
}
