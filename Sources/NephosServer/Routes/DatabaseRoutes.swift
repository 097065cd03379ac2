import NephosService
import NephosWire

extension Route {
    /// Creates the route of an endpoint, which decodes the request, calls the service and encodes the answer.
    init(_ answer: some EndpointAnswering) {
        let methods: [HTTPMethod] = answer.endpoint.method == .getOrPost ? [.get, .post] : [.post]
        self.init(methods, answer.endpoint.path, bodyLimit: answer.bodyLimit, access: .container) {
            routed throws(Refusal) in
            let context = try await routed.context()
            if routed.notesClients {
                routed.clients.note(context, answer.path, at: routed.service.environment.now())
            }
            do throws(ServiceError) { try answer.admit(context) } catch { throw Refusal(error) }
            do throws(ServiceError) {
                try routed.service.checkAdditions(inBody: routed.request.body, context)
            } catch {
                throw Refusal(error)
            }
            let service = routed.service
            let request = try await routed.decodedBody(of: context.account) { body throws(WireError) in
                try answer.decode(service)(body)
            }
            routed.details?.note(request)
            do throws(ServiceError) {
                if let requestKey = context.requestKey, answer.claimsSignedRequests {
                    try await routed.access.installation?.claim(signed: requestKey, by: context.session ?? "")
                }
                let fault = try routed.fault()
                let message = try await routed.service.answer(answer, request, context, fault: fault)
                if routed.notesClients { routed.clients.note(message, of: context) }
                return routed.answer(message)
            } catch {
                throw Refusal(error)
            }
        }
    }
}

extension RoutedRequest {
    /// The fault that the request itself asks for; nil for none, and on servers that have no faults.
    fileprivate func fault() throws(ServiceError) -> FaultRule? {
        guard let text = request.fault, access.hasFaults else { return nil }
        return try FaultRule(ofOneRequest: text)
    }

    /// Returns the response that contains this message.
    func answer<Message: WireMessage>(_ message: Message) -> HTTPResponse {
        details?.note(answer: message)
        var response = HTTPResponse.message(message)
        response.isOutcome = (message as? RecordsResponse)?.records.contains { !$0.isFailure } ?? true
        return response
    }

    /// Returns the context of the request: its caller and its database.
    func context() async throws(Refusal) -> RequestContext {
        let path = try DatabasePath(target.components)
        details?.container = path.container
        details?.environment = path.environment.rawValue
        if target.components.first == DatabasePath.module { details?.database = path.scope.rawValue }
        let caller = try await access.caller(request, target, path)
        let account = caller.account
        details?.account = account
        details?.isCallerKnown = true
        var context = RequestContext(
            container: path.container, environment: path.environment, scope: path.scope, account: account,
            clientID: target.parameter("clientId")?.readings.first,
            requestID: requestID)
        context.takesEncodedRecords = true
        context.isOfLibrary = request.takesAdditions
        let asks = target.parameter("getCurrentSyncToken")?.readings.first?.lowercased()
        context.wantsSyncToken = asks == "true" || asks == "1"
        context.baseURL = access.baseURL(request)
        context.address = caller.address
        context.session = caller.session
        context.requestKey = caller.requestKey
        context.mayExtendSchema = caller.isDeveloper
        context.program = caller.program
        return context
    }
}
