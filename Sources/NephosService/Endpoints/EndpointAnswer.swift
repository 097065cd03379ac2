package import NephosWire

/// The implementation of an endpoint, for requests over HTTP and in the same process.
package protocol EndpointAnswering<Request, Response>: Sendable {
    associatedtype Request: WireMessage & Sendable
    associatedtype Response: WireMessage & Sendable
    /// The request in the form to which its body is decoded.
    associatedtype Decoded: Sendable

    var endpoint: Endpoint<Request, Response> { get }
    var path: String { get }
    var use: EndpointUse { get }
    /// Whether Apple's service does not have the endpoint.
    var isAddition: Bool { get }
    /// The maximum number of bytes per request body.
    var bodyLimit: Int { get }
    var decode: @Sendable (NephosService) -> ([UInt8]) throws(WireError) -> Decoded { get }
    var call: @Sendable (NephosService) -> (Decoded, RequestContext) async throws(ServiceError) -> Response { get }
    /// Converts a request from the same process, which has no body, to the decoded form.
    var converted: @Sendable (Request) -> Decoded { get }
}

struct EndpointAnswer<
    Request: WireMessage & Sendable, Decoded: Sendable, Response: WireMessage & Sendable
>: EndpointAnswering {
    let endpoint: Endpoint<Request, Response>
    var bodyLimit = Limits.requestSize
    let decode: @Sendable (NephosService) -> ([UInt8]) throws(WireError) -> Decoded
    let call: @Sendable (NephosService) -> (Decoded, RequestContext) async throws(ServiceError) -> Response
    let converted: @Sendable (Request) -> Decoded

    var path: String { endpoint.path }
    var use: EndpointUse { endpoint.use }
    var isAddition: Bool { endpoint.isAddition }
}

extension EndpointAnswer where Decoded == Request {
    /// Creates the implementation of an endpoint whose decoded form is the request itself.
    init(
        _ endpoint: Endpoint<Request, Response>, bodyLimit: Int = Limits.requestSize,
        decode: @escaping @Sendable (NephosService) -> ([UInt8]) throws(WireError) -> Request = { _ in
            { (body) throws(WireError) in try Request(decoding: body) }
        },
        _ call: @escaping @Sendable (NephosService) -> (Request, RequestContext) async throws(ServiceError) -> Response
    ) {
        self.init(endpoint: endpoint, bodyLimit: bodyLimit, decode: decode, call: call, converted: { $0 })
    }
}

extension EndpointAnswer where Request == EmptyRequest, Decoded == EmptyRequest {
    init(
        _ endpoint: Endpoint<Request, Response>,
        _ call: @escaping @Sendable (NephosService) -> (RequestContext) async throws(ServiceError) -> Response
    ) {
        self.init(endpoint) { service in
            { (_, context) throws(ServiceError) in try await call(service)(context) }
        }
    }
}
