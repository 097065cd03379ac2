import Dispatch
import Glibc
import NephosThreads
import Synchronization

/// Writes lines to a descriptor on a thread of its own, because a stopped terminal, or a pipe without a reader, must
/// not block requests. Lines beyond the limit of the buffer are dropped and counted.
package final class LogWriter: Sendable {
    private static let limit = 10_000

    private struct State {
        var lines: [String] = []
        var dropped = 0
        var hasThread = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    /// The lock of the writing thread, which keeps the lines in order.
    private let writing = Mutex(())

    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// - Parameter line: the line without a newline.
    package func write(_ line: String) {
        let isFirst = state.withLock { state in
            if !state.hasThread {
                guard (try? NativeThread.start("log") { [self] in run() }) != nil else { return false }
                state.hasThread = true
            }
            if state.lines.count >= Self.limit { state.dropped += 1 } else { state.lines.append(line) }
            return state.lines.count == 1
        }
        if isFirst { wake.signal() }
    }

    private func run() {
        while true {
            wake.wait()
            flush()
        }
    }

    /// Writes all buffered lines on the calling thread.
    package func flush() {
        writing.withLock { _ in
            let (lines, dropped) = state.withLock { state in
                defer { (state.lines, state.dropped) = ([], 0) }
                return (state.lines, state.dropped)
            }
            writeAll(lines.joined(separator: "\n") + (lines.isEmpty ? "" : "\n"))
            if dropped > 0 { writeAll("… \(dropped) lines were not written\n") }
        }
    }

    private func writeAll(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
