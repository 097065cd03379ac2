/// An endpoint of CloudKit Web Services: its path, its messages, and whether a client retries it.
///
/// The client sends by it, and the service's endpoint table answers by it, over HTTP and in one process.
package struct Endpoint<Request: WireMessage & Sendable, Response: WireMessage & Sendable>: Sendable {
    /// Entity and action: `records/modify`.
    package let path: String
    package let method: EndpointMethod
    package let retry: Retry
    package let module: EndpointModule

    init(
        _ path: String, method: EndpointMethod = .post, retry: Retry = .never, module: EndpointModule = .database
    ) {
        self.path = path
        self.method = method
        self.retry = retry
        self.module = module
    }

    /// Whether a client retries a request whose response was lost.
    package enum Retry: Sendable {
        case never
        /// The request changes nothing.
        case idempotent
        /// The request holds a key, here, with which the service repeats its first response.
        case requestKey(any WritableKeyPath<Request, String?> & Sendable)
    }
}

package enum EndpointMethod: Hashable, Sendable {
    case post
    /// Without a message: clients send GET, or POST.
    case getOrPost
}

package enum EndpointModule: Hashable, Sendable {
    /// `/database/1/{container}/{environment}/{database}/…`
    case database
    /// `/device/1/{container}/{environment}/…`
    case device
}

/// The request of an endpoint that takes no message.
package struct EmptyRequest: WireMessage, Hashable, Sendable {
    package init() {}
    package init(json: JSONValue) throws(WireError) {}
    /// Ignores the body, because clients send `{}` or nothing.
    package init(decoding body: UnsafeRawBufferPointer) throws(WireError) {}

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.endObject()
    }
}
