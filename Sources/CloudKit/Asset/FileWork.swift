import Foundation

/// Work on files, which blocks: on a thread of its own, so that neither Swift's tasks nor the library's wait for a disk.
enum FileWork {
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
