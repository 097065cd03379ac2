import Synchronization

/// Serialises the work of each holder, in FIFO order, so that a holder that asks for much delays only itself.
package final class Turns<Holder: Hashable & Sendable>: Sendable {
    /// The queue of each holder that has its turn, oldest first.
    private let turns = Mutex<[Holder: [CheckedContinuation<Bool, Never>]]>([:])
    private let limit: Int

    /// - Parameter limit: the maximum length of a holder's queue.
    package init(limit: Int) { self.limit = limit }

    /// Waits for the holder's turn.
    /// - Returns: whether it is the holder's turn, which `end` ends; false if its queue is full.
    package func begin(_ holder: Holder) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = turns.withLock { turns -> Bool? in
                guard let waiting = turns[holder] else {
                    turns[holder] = []
                    return true
                }
                if waiting.count >= limit { return false }
                turns[holder]?.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    package func end(_ holder: Holder) {
        let next = turns.withLock { turns -> CheckedContinuation<Bool, Never>? in
            guard turns[holder]?.isEmpty == false else {
                turns[holder] = nil
                return nil
            }
            return turns[holder]?.removeFirst()
        }
        next?.resume(returning: true)
    }

    /// The length of a holder's queue.
    func waiting(of holder: Holder) -> Int { turns.withLock { $0[holder]?.count ?? 0 } }
}
