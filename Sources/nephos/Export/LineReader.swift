import Glibc
import NephosService

/// Reads a file or standard input line by line. At most one line is in memory.
final class LineReader {
    /// The maximum size of a line in bytes: an operation on the largest record that a service accepts, including the
    /// escapes of JSON.
    static let longestLine = 8 * Limits.requestSize

    let path: String
    /// The size of the file in bytes; nil if it is unknown, as for a pipe.
    let size: Int?
    /// The number of the line that was last read, counted from 1; 0 before.
    private(set) var line = 0
    /// The number of bytes that were read so far.
    private(set) var position = 0

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false

    init(_ path: String) throws {
        self.path = path == "-" ? "<stdin>" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Cloud.Failure(message: "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        var status = stat()
        size = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Returns the next line without its terminator; nil at the end. Skips empty lines.
    func next() throws -> [UInt8]? {
        while true {
            let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
            if end == nil, !isAtEnd {
                try fill()
                continue
            }
            let last = end ?? buffer.count
            if last == start, end == nil { return nil }
            let bytes = Array(buffer[start..<last])
            position += last - start + (end == nil ? 0 : 1)
            start = end.map { $0 + 1 } ?? last
            line += 1
            if !bytes.isEmpty { return bytes }
        }
    }

    private func fill() throws {
        buffer.removeSubrange(..<start)
        start = 0
        guard buffer.count <= Self.longestLine else {
            throw Cloud.Failure(message: "\(path):\(line + 1): the line is longer than \(Self.longestLine) bytes.")
        }
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw Cloud.Failure(message: "cannot read \(path): \(String(cString: strerror(errno)))")
            }
            if count == 0 { isAtEnd = true }
            buffer += chunk[..<count]
            return
        }
    }
}
