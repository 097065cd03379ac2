/// An endpoint of CloudKit Web Services: its path, its messages, and whether a client retries its requests.
///
/// The client uses it to send requests, and the service's endpoint table uses it to answer them, over HTTP and in one
/// process.
package struct Endpoint<Request: WireMessage & Sendable, Response: WireMessage & Sendable>: Sendable {
    /// The endpoint's entity and action, such as `records/modify`.
    package let path: String
    package let method: EndpointMethod
    package let retry: Retry
    package let module: EndpointModule
    package let use: EndpointUse
    /// Whether Apple's service does not have the endpoint.
    package let isAddition: Bool

    /// - Parameter use: nil for an endpoint that reads if its requests are idempotent, and writes otherwise.
    init(
        _ path: String, method: EndpointMethod = .post, retry: Retry = .never, module: EndpointModule = .database,
        use: EndpointUse? = nil, isAddition: Bool = false
    ) {
        self.path = path
        self.method = method
        self.retry = retry
        self.module = module
        let isIdempotent = if case .idempotent = retry { true } else { false }
        self.use = use ?? (isIdempotent ? .reads : .writes)
        self.isAddition = isAddition
    }

    /// Whether a client retries a request whose response was lost.
    package enum Retry: Sendable {
        case never
        /// The client retries: the request changes nothing.
        case idempotent
        /// The client retries: the request has an idempotency key at this key path, by which the service repeats its
        /// first response.
        case requestKey(any WritableKeyPath<Request, String?> & Sendable)
    }
}

package enum EndpointMethod: Hashable, Sendable {
    case post
    /// The endpoint answers GET, too. A client sends GET if the request has no message.
    case getOrPost
}

/// What an endpoint does with the data of the account: program tokens and server-to-server keys have limited access.
package enum EndpointUse: Hashable, Sendable {
    case reads, writes
    /// Makes, enrols or resets something that signs in, decrypts or is notified later.
    case credentials
}

package enum EndpointModule: Hashable, Sendable {
    /// An endpoint at `/database/1/{container}/{environment}/{database}/…`.
    case database
    /// An endpoint at `/device/1/{container}/{environment}/…`.
    case device
}

/// The request of an endpoint without a request message.
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
