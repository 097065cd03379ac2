import NephosService
import NephosWire

extension Route {
    /// The long poll. It holds a request until its token has a notification, and answers with the notification
    /// (CloudKit Web Services, web courier). On time-out it answers `{}`, and the client polls again.
    ///
    /// No sign-in is needed: any client with the token may poll, at a production server as long as the session lives
    /// that made the token. Our additional parameter `nephosReceived` acknowledges
    /// the notification of the previous poll (`none` for none), so that a notification whose answer was lost is sent
    /// again. Without the parameter, a notification counts as received once its answer was sent. With our parameter
    /// `nephosWait=0` a request is not held. Clients use GET or POST.
    static let courier = Route([.get, .post], "/" + CourierPath.module, bodyLimit: 16 * 1024, access: .url) {
        routed throws(Refusal) in
        // An answer to HEAD has no body, so a notification in it would be lost.
        if routed.request.method == .head { return .json(Array("{}".utf8)) }
        let path = try CourierPath(routed.target.components)
        let context = RequestContext(
            container: path.container, environment: path.environment, scope: .private, account: nil,
            requestID: routed.requestID)
        let received = routed.target.parameter("nephosReceived")?.readings.first
        let receipt: LongPollRegistry.Receipt =
            received.map { .exact(notificationID: $0 == "none" ? nil : $0) } ?? .implied
        do throws(ServiceError) {
            let waits = routed.target.parameter("nephosWait")?.readings.first != "0"
            let polled = try await routed.poll(path, receipt, waits: waits, context)
            guard let polled else { return .json(Array("{}".utf8)) }
            var response = HTTPResponse.json(polled.payload)
            response.whenSent = polled.wasSent
            return response
        } catch {
            throw Refusal(error)
        }
    }
}

/// The path that a client polls for its notifications: `/courier/1/{container}/{environment}/{token}`.
struct CourierPath: Hashable, Sendable {
    static let module = "courier"

    var container: String
    var environment: ContainerEnvironment
    var token: String
    /// The session to which the poll belongs, as opaque text; nil without one.
    var session: String?

    /// - Parameter components: the five or six components of the whole path.
    init(_ components: [String]) throws(Refusal) {
        let path = try DatabasePath(components)
        container = path.container
        environment = path.environment
        token = components[4]
        session = components.count > 5 ? components[5] : nil
    }
}

extension RoutedRequest {
    /// Polls, at a production server while the session lives.
    fileprivate func poll(
        _ path: CourierPath, _ receipt: LongPollRegistry.Receipt, waits: Bool, _ context: RequestContext
    ) async throws(ServiceError) -> PolledNotification? {
        guard let installation = access.installation else {
            return try await service.nextNotification(token: path.token, receipt: receipt, waits: waits, context)
        }
        let session = try await service.session(ofPoll: path.session, token: path.token, context)
        let result = try await installation.whileLive(session) {
            [service] account async -> Result<PolledNotification?, ServiceError> in
            do throws(ServiceError) {
                return .success(
                    try await service.nextNotification(
                        token: path.token, of: account, receipt: receipt, waits: waits, context))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
