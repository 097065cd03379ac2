import NephosStorage
import Synchronization

/// The readiness check: whether writes commit. A load balancer asks before it sends requests.
///
/// A check takes a change sequence in the open stores through the write queue, as a save does. Checks are coalesced:
/// one a second at most, and one at a time; callers get an answer in time even if a check hangs.
actor Readiness {
    private let stores: Stores
    private let environment: ServiceEnvironment
    /// The result of the last check, and its time in milliseconds since 1970.
    private var last: (time: Int64, problem: String?)?
    private var check: Task<Void, Never>?
    private var isLate = false
    private var waiting: [CheckedContinuation<String?, Never>] = []

    init(_ stores: Stores, _ environment: ServiceEnvironment) {
        self.stores = stores
        self.environment = environment
    }

    /// Returns the reason that writes fail; nil if they succeed.
    func problem() async -> String? {
        if check == nil, let last, (0..<Limits.readinessInterval).contains(environment.now() - last.time) {
            return last.problem
        }
        if check != nil, isLate { return Self.late }
        if check == nil { begin() }
        return await withCheckedContinuation { waiting.append($0) }
    }

    private static let late =
        "a write has not been committed for \(Limits.readinessPatience / 1000) seconds: the service's storage hangs"

    private func begin() {
        isLate = false
        let timer = Task { [environment] in
            guard (try? await environment.sleep(.milliseconds(Limits.readinessPatience))) != nil else { return }
            self.noteLate()
        }
        check = Task { [stores, environment] in
            let problem = await stores.problemOfWriting()
            timer.cancel()
            let text = problem.map { $0.what + "; the log has the details" }
            if let problem, text != self.last?.problem {
                environment.log("not ready: \(problem.what): \(problem.cause)")
            }
            self.end(text)
        }
    }

    private func noteLate() {
        guard check != nil else { return }
        isLate = true
        answer(Self.late)
    }

    private func end(_ problem: String?) {
        (last, check) = ((environment.now(), problem), nil)
        answer(problem)
    }

    private func answer(_ problem: String?) {
        for continuation in waiting { continuation.resume(returning: problem) }
        waiting = []
    }
}

/// The failure of a store's test write.
struct WriteProblem: Sendable {
    let what: String
    /// For the log.
    let cause: any Error
}

extension Stores {
    /// Writes in the most recently used stores; if none is open, in one existing store.
    nonisolated func problemOfWriting() async -> WriteProblem? {
        do {
            let open = usedLast(Limits.storesPerReadinessCheck)
            if !open.isEmpty { return await Self.problemOfWriting(open) }
            guard let first = try await known().min(by: { $0.container < $1.container }) else { return nil }
            return try await using(first) { await Self.problemOfWriting([$0]) }
        } catch {
            return WriteProblem(what: "the stores cannot be opened", cause: error)
        }
    }

    private static func problemOfWriting(_ stores: [Store]) async -> WriteProblem? {
        await withTaskGroup(of: WriteProblem?.self) { group in
            for store in stores {
                group.addTask {
                    do {
                        _ = try await store.engine.write { try $0.nextSequence() }
                        return nil
                    } catch {
                        // It was idle and is closed.
                        if (error as? StorageError)?.code == .closed { return nil }
                        let name = "container \(store.id.container), \(store.id.environment)"
                        return WriteProblem(what: "the store of \(name), cannot be written", cause: error)
                    }
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
    }
}

extension NephosService {
    /// Returns the reason that writes fail; nil if they succeed. For operators.
    package func problemOfWriting() async -> String? { await readiness.problem() }
}
