import Synchronization

/// What tasks wait for until it is opened, once and for all.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Resumes all tasks that wait, and lets later ones pass.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for task in waiting { task.resume() }
    }

    /// Returns once the latch is open or the caller's task is cancelled.
    package func wait() async {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { task in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting[id] = task }
                    return state.isOpen
                }
                if isOpen { task.resume() }
                // A cancellation before the task waited found none.
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// Returns once the latch is open, the caller's task is cancelled, or a real time is over.
    /// - Returns: whether the latch is open.
    package func wait(within limit: Duration) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return isOpen
    }

    private func leave(_ id: Int) { state.withLock { $0.waiting.removeValue(forKey: id) }?.resume() }
}
