import CloudKit
import Foundation
import NephosService
import NephosWire

/// Passes CloudKit's requests to a service in the same process, with the same rules as over HTTP but without
/// serialization.
final class LocalService: CloudService {
    /// The cloud, which exists as long as one of its containers refers to it.
    private let cloud: LocalCloud
    private let container: String
    private let account: String?
    private let environment: CloudKitEnvironment.Name
    /// The ID of this client. Each client counts as a device: the service does not notify a device of the device's own
    /// changes.
    private let clientID: String
    /// The notifications that arrive once more, where the service is unfriendly.
    private let repeated = UnfriendlyNotifications()
    /// The app on a device of a test; nil for other containers.
    private let device: LocalDevice?

    init(
        _ cloud: LocalCloud, container: String, account: String?, environment: CloudKitEnvironment.Name,
        device: LocalDevice? = nil
    ) {
        self.cloud = cloud
        self.container = container
        self.account = account
        self.environment = environment
        self.device = device
        clientID = device?.clientID ?? UUID().uuidString
        keyStore = device?.keyStore ?? FileKeyStore.ofProcess
    }

    let keyStore: any DeviceKeyStore
    var simulatedExecutor: (any SimulatedExecutor)? { device?.door?.libraryExecutor }
    func callWaits() { device?.door?.callWaits() }
    func callGoesOn() { device?.door?.callGoesOn() }
    var refusesAdditions: Bool { cloud.service.refusesAdditions }
    var hasAccount: Bool { account != nil }
    /// The cloud's clock, which a test advances.
    var uptime: Int64 { cloud.service.environment.now() }
    var environmentName: CloudKitEnvironment.Name { environment }
    var signInAdvice: String {
        if let device { return "sign one in, as in device(\"\(device.clientID)\").signIn(_:)" }
        return "name one, as in LocalCloud.container(account:) or becomeDefault(account:)"
    }

    func send<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        guard let door = device?.door else { return try await answer(endpoint, request, call) }
        return try await pass(door, RequestText.of(request, endpoint.path)) { () throws(ServiceFailure) in
            try await answer(endpoint, request, call)
        }
    }

    private func answer<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
    ) async throws(ServiceFailure) -> Response {
        try await ask(call, naming: { RequestText.of(request, endpoint.path) }) {
            service, context throws(ServiceError) in
            try await service.answer(endpoint, request, context)
        }
    }

    /// Does what a request asks when it is its turn at the door of the simulated device.
    private func pass<Answer>(
        _ door: any DeviceDoor, _ text: String, _ body: () async throws(ServiceFailure) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        do {
            try await door.admit(text)
        } catch {
            throw .cancelled
        }
        do throws(ServiceFailure) {
            let answer = try await body()
            door.answered(text, nil)
            return answer
        } catch {
            door.answered(text, error.name)
            throw error
        }
    }

    /// A share's URL needs a root, but this cloud has no server. `localhost` is never the address of another server.
    let shareURLRoot = "https://localhost/share/"

    /// True: this process contains the cloud, so the keys never leave the process.
    let mayEscrowKeys = true

    // MARK: Assets

    func upload(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        if let door = device?.door {
            return try await pass(door, Self.text(ofUpload: content)) { () throws(ServiceFailure) in
                try await send(content, to: address, call, progress: progress)
            }
        }
        return try await send(content, to: address, call, progress: progress)
    }

    private static func text(ofUpload content: AssetContent) -> String { "upload \(content.size) bytes" }

    private func send(
        _ content: AssetContent, to address: String, _ call: ServiceCall,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        let parts = address.split(separator: "/").map(String.init)
        return try await ask(call, .assets, naming: { Self.text(ofUpload: content) }) {
            service, context throws(ServiceError) in
            let upload = try await service.beginUpload(
                parts.last ?? "", size: content.size, container: context.container, context.environment,
                requestID: context.requestID)
            if let sealed = content.sealed {
                var sent: Int64 = 0
                // A failed read returns fewer bytes than announced. The service then refuses the upload, and the file
                // is examined again.
                while let piece = try? await sealed.next() {
                    try await upload.append(piece)
                    sent += Int64(piece.count)
                    progress(sent)
                }
            } else {
                try await upload.append(contentsOfFile: content.file.path, progress: progress)
            }
            return try await upload.finish()
        }
    }

    func download(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        if let door = device?.door {
            return try await pass(door, "download") { () throws(ServiceFailure) in
                try await receive(address, to: file, call, progress: progress)
            }
        }
        try await receive(address, to: file, call, progress: progress)
    }

    private func receive(
        _ address: String, to file: URL, _ call: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) {
        // `/assets/1/{container}/{environment}/{content}/{token}/…`
        let parts = address.split(separator: "/").map(String.init)
        try await ask(call, .assets, naming: { "download" }) { service, context throws(ServiceError) in
            let asset = try await service.openAsset(
                parts.dropFirst(4).first ?? "", parts.dropFirst(5).first ?? "", container: context.container,
                context.environment, requestID: context.requestID)
            try await asset.copy(toFile: file.path, progress: progress)
        }
    }

    var sealsAssets: Bool { CloudKitEnvironment.current.sealsAssets }

    /// Nil: the files need no cache, because they are on this machine.
    var assetCacheName: String? { nil }

    func nextNotification(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        let service = cloud.service
        guard let plan = service.faults, plan.isUnfriendly else {
            return try await poll(token, received: received, call)
        }
        return try await repeated.next(plan, service.environment, received) { (received) throws(ServiceFailure) in
            try await self.poll(token, received: received, call)
        }
    }

    private func poll(
        _ token: TokenResponse, received: String?, _ call: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        let polled = try await ask(call, .notification) { service, context throws(ServiceError) in
            try await service.nextNotification(
                token: token.apnsToken, receipt: .exact(notificationID: received), context)
        }
        guard let polled else {
            if Task.isCancelled { throw .cancelled }
            return nil
        }
        do throws(WireError) {
            return try NotificationPayload(decoding: polled.payload)
        } catch {
            throw .transport(.internalError, "A notification of the service is not CloudKit's: \(error).")
        }
    }

    /// - Parameters:
    ///   - operation: what the request is to faults, if it goes to no endpoint.
    ///   - text: names the request; nil for one that no code awaits.
    private func ask<Answer>(
        _ call: ServiceCall, _ operation: FaultOperation? = nil, naming text: (() -> String)? = nil,
        _ request: (NephosService, RequestContext) async throws(ServiceError) -> Answer
    ) async throws(ServiceFailure) -> Answer {
        try await freezeIfEnded(text)
        var context = RequestContext(
            container: container, environment: environment == .production ? .production : .development,
            scope: DatabaseScope(call.scope), account: account, clientID: clientID, requestID: UUID().uuidString)
        context.isOfSyncEngine = call.isOfSyncEngine
        let answer: Answer
        do throws(ServiceError) {
            let service = cloud.service
            try await cloud.givenSchema?.define(in: container, of: service)
            if let operation {
                answer = try await service.withFaults(operation, context) { () throws(ServiceError) in
                    try await request(service, context)
                }
            } else {
                answer = try await request(service, context)
            }
        } catch {
            try await freezeIfEnded(text)
            throw ServiceFailure(error, requestID: context.requestID)
        }
        try await freezeIfEnded(text)
        return answer
    }

    /// Has the requests of an app that has ended wait, also those under way.
    private func freezeIfEnded(_ text: (() -> String)?) async throws(ServiceFailure) {
        guard let device, device.hasEnded else { return }
        await device.freeze(text)
        throw .cancelled
    }
}

extension ServiceFailure {
    /// Creates the failure of a request: what a fault says of the network is none of the service's answers.
    fileprivate init(_ error: ServiceError, requestID: String) {
        switch error.fault {
        case .networkUnavailable: self = .transport(.networkUnavailable, error.reason, retryAfter: error.retryAfter)
        case .networkFailure: self = .transport(.networkFailure, error.reason, retryAfter: error.retryAfter)
        case .serverResponseLost: self = .transport(.serverResponseLost, error.reason, retryAfter: error.retryAfter)
        case .operationCancelled: self = .cancelled
        default: self = .refused(error.dictionary(requestID: requestID))
        }
    }

    /// The error's name in a trace.
    fileprivate var name: String {
        switch self {
        case .refused(let error): "\(error.serverErrorCode)"
        case .transport(let code, _, _): "\(code)"
        case .cancelled: "cancelled"
        }
    }
}

extension DatabaseScope {
    fileprivate init(_ scope: CKDatabase.Scope) {
        switch scope {
        case .public: self = .public
        case .private: self = .private
        case .shared: self = .shared
        }
    }
}
