import CMicroHTTPD
import NephosWire

/// Retains the bytes of a body while libmicrohttpd sends them in place.
final class ResponseBody {
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
