import CMicroHTTPD
import Dispatch
import NephosWire
import Synchronization

/// One request and its answer, while libmicrohttpd works on it. Only the thread of its connection touches it.
final class Exchange {
    enum Phase {
        /// The request line is known.
        case started
        /// The headers are known; the body is arriving.
        case receiving
        /// The handler runs, or has left its answer.
        case running(RequestRun)
    }

    private(set) var phase = Phase.started
    private var request: HTTPRequest
    private var droppedBytes = 0
    private var whenSent: (@Sendable (Bool) -> Void)?

    init(target: String) {
        request = HTTPRequest(method: .other, target: target)
    }

    /// Whether the exchange counts as an open request.
    var isOpen: Bool {
        if case .started = phase { false } else { true }
    }

    /// The headers have arrived.
    func begin(_ connection: OpaquePointer, method: String, _ bridge: HTTPBridge) -> MHD_Result {
        bridge.openRequests.enter()
        phase = .receiving
        request.method = HTTPMethod(named: method)
        request.host = header("Host", connection)
        request.origin = header("Origin", connection)
        let length = header("Content-Length", connection).flatMap { Int($0) } ?? 0
        if length > bridge.options.bodyLimit {
            request.bodyIsTooLarge = true
            // Too much to drop: the answer goes out at once, and the connection closes.
            if length > bridge.options.droppedBodyLimit { return run(connection, bridge) }
        } else {
            request.body.reserveCapacity(length)
        }
        return .YES
    }

    /// A piece of the body has arrived.
    func receive(_ piece: UnsafeRawBufferPointer, _ options: HTTPServer.Options) -> MHD_Result {
        if !request.bodyIsTooLarge, request.body.count + piece.count <= options.bodyLimit {
            request.body.append(contentsOf: piece)
            return .YES
        }
        droppedBytes += request.body.count + piece.count
        request.bodyIsTooLarge = true
        request.body = []
        return droppedBytes <= options.droppedBodyLimit ? .YES : .NO
    }

    /// The request is whole: runs the handler. It starts on this thread, and if it answers without having waited for
    /// anything, the answer is queued at once; otherwise the connection is suspended until the handler can go on.
    func run(_ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        let run = RequestRun(connection)
        let request = self.request
        self.request.body = []
        phase = .running(run)
        bridge.runningHandlers.enter()
        run.start {
            run.give(await bridge.handler(request))
            bridge.runningHandlers.leave()
        }
        return proceed(run, connection, bridge)
    }

    /// The handler has started, or its connection has resumed: does what the handler has to do, queues its answer.
    func proceed(_ run: RequestRun, _ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        guard let response = run.proceed() else { return .YES }
        return queue(response, connection, bridge)
    }

    private func header(_ name: StaticString, _ connection: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        var size = 0
        let found = name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                MHD_lookup_connection_value_n(connection, .HEADER_KIND, $0.baseAddress, $0.count, &value, &size)
            }
        }
        guard found == .YES, let value else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
    }

    /// The exchange is over; `isWhole` where the answer was written.
    func end(isWhole: Bool) {
        whenSent?(isWhole)
        if case .running(let run) = phase { run.leave() }
    }

    private func queue(_ response: HTTPResponse, _ connection: OpaquePointer, _ bridge: HTTPBridge) -> MHD_Result {
        whenSent = response.whenSent
        guard let native = ResponseBody(response.parts).makeResponse() else { return .NO }
        defer { MHD_destroy_response(native) }
        for header in response.headers {
            guard MHD_add_response_header(native, header.name, header.value) == .YES else { return .NO }
        }
        if bridge.isStopping.load(ordering: .acquiring) { MHD_add_response_header(native, "Connection", "close") }
        return MHD_queue_response(connection, UInt32(response.status), native)
    }
}

/// Keeps a body's bytes alive while libmicrohttpd sends them: it reads them where they are.
private final class ResponseBody {
    private let parts: [JSONBytes]

    init(_ parts: [JSONBytes]) {
        self.parts = parts
    }

    func makeResponse() -> OpaquePointer? {
        let held = Unmanaged.passRetained(self)
        let response = makeResponse(held.toOpaque()) { closure in
            if let closure { Unmanaged<ResponseBody>.fromOpaque(closure).release() }
        }
        if response == nil { held.release() }
        return response
    }

    private func makeResponse(
        _ closure: UnsafeMutableRawPointer, whenDone: MHD_ContentReaderFreeCallback
    ) -> OpaquePointer? {
        if parts.count > 1 {
            let places = parts.map { MHD_IoVec(iov_base: $0.buffer.baseAddress, iov_len: $0.buffer.count) }
            return MHD_create_response_from_iovec(places, UInt32(places.count), whenDone, closure)
        }
        let bytes = parts.first?.buffer
        return MHD_create_response_from_buffer_with_free_callback_cls(
            bytes?.count ?? 0, UnsafeMutableRawPointer(mutating: bytes?.baseAddress), whenDone, closure)
    }
}
