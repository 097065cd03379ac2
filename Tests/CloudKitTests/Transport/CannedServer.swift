import CloudKit
import Glibc
import Synchronization

/// A server on the loopback that gives every request the same bytes, or takes them and never answers.
final class CannedServer: Sendable {
    let port: UInt16
    private let socket: Int32
    private let received = Mutex<[String]>([])

    /// The heads and bodies of the requests so far.
    var requests: [String] { received.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(port)" }

    struct Failure: Error {}

    /// - Parameter answer: a whole HTTP response; nil leaves the connection open without one.
    init(_ answer: String?) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 8) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw Failure() }
        Thread.detachNewThread { [self] in serve(answer) }
    }

    /// Stops accepting.
    func close() { shutdown(socket, Int32(SHUT_RDWR)) }

    private func serve(_ answer: String?) {
        var silent: [Int32] = []
        while true {
            let connection = accept(socket, nil, nil)
            guard connection >= 0 else { break }
            let request = read(connection)
            received.withLock { $0.append(request) }
            guard let answer else {
                silent.append(connection)
                continue
            }
            let bytes = Array(answer.utf8)
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            Glibc.close(connection)
        }
        for connection in silent { Glibc.close(connection) }
        Glibc.close(socket)
    }

    /// Reads a head and as much body as it announces.
    private func read(_ connection: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            let text = String(decoding: bytes, as: UTF8.self)
            guard let head = text.range(of: "\r\n\r\n") else { continue }
            let length = text.range(of: "content-length: ", options: .caseInsensitive).flatMap { range in
                Int(text[range.upperBound...].prefix { $0.isNumber })
            }
            if text[head.upperBound...].utf8.count >= length ?? 0 { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A whole response.
    static func response(_ status: Int, _ body: String, headers: [String] = []) -> String {
        let lines = ["HTTP/1.1 \(status) Status", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}
