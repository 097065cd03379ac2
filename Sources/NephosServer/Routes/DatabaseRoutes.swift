import NephosService
import NephosWire

extension Route {
    /// A route of a database that takes a message and answers with one: decode, call the service, encode.
    static func database<Request: WireMessage & Sendable, Response: WireMessage & Sendable>(
        _ methods: [HTTPMethod], _ action: String, bodyLimit: Int = Limits.requestSize,
        _ call: @escaping @Sendable (NephosService) -> (Request, RequestContext) async throws(ServiceError) -> Response
    ) -> Route {
        database(
            methods, action, bodyLimit: bodyLimit,
            decoding: { _ in { (body) throws(WireError) in try Request(decoding: body) } }, call)
    }

    /// A database route for which the service takes part in decoding.
    static func database<Request: Sendable, Response: WireMessage & Sendable>(
        _ methods: [HTTPMethod], _ action: String, bodyLimit: Int = Limits.requestSize,
        decoding decode: @escaping @Sendable (NephosService) -> ([UInt8]) throws(WireError) -> Request,
        _ call: @escaping @Sendable (NephosService) -> (Request, RequestContext) async throws(ServiceError) -> Response
    ) -> Route {
        Route(methods, action, bodyLimit: bodyLimit) { routed throws(Refusal) in
            let context = try routed.context()
            let message: Request
            do throws(WireError) {
                message = try decode(routed.service)(routed.request.body)
            } catch {
                throw Refusal(error)
            }
            routed.details?.note(message)
            do throws(ServiceError) {
                return routed.answer(try await call(routed.service)(message, context))
            } catch {
                throw Refusal(error)
            }
        }
    }

    /// A database route without a request message; it ignores the body, as clients send `{}` or nothing.
    static func database<Response: WireMessage & Sendable>(
        _ methods: [HTTPMethod], _ action: String,
        _ call: @escaping @Sendable (NephosService) -> (RequestContext) async throws(ServiceError) -> Response
    ) -> Route {
        Route(methods, action) { routed throws(Refusal) in
            let context = try routed.context()
            do throws(ServiceError) {
                return routed.answer(try await call(routed.service)(context))
            } catch {
                throw Refusal(error)
            }
        }
    }
}

extension RoutedRequest {
    /// The answer with this message.
    func answer<Message: WireMessage>(_ message: Message) -> HTTPResponse {
        details?.note(message)
        var response = HTTPResponse.message(message)
        response.isOutcome = (message as? RecordsResponse)?.records.contains { !$0.isFailure } ?? true
        return response
    }

    /// The caller and the database.
    func context() throws(Refusal) -> RequestContext {
        let path = try DatabasePath(target.components)
        details?.container = path.container
        details?.environment = path.environment.rawValue
        if target.components.first == DatabasePath.module { details?.database = path.scope.rawValue }
        let account = try DevelopmentSignIn.account(target)
        details?.account = account
        var context = RequestContext(
            container: path.container, environment: path.environment, scope: path.scope, account: account,
            clientID: target.parameter("clientId")?.readings.first,
            requestID: requestID)
        context.takesEncodedRecords = true
        let asks = target.parameter("getCurrentSyncToken")?.readings.first?.lowercased()
        context.wantsSyncToken = asks == "true" || asks == "1"
        context.baseURL = request.baseURL
        return context
    }
}
