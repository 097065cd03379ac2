import NephosStorage
import Synchronization

/// The readiness check: whether writes commit. A load balancer asks for it before it sends requests.
///
/// A check inserts and deletes a row in each of several open stores and in that of the accounts, through the write queue, as a save does. Checks are
/// coalesced: at most one per second, and one at a time. Callers get a result in time even if a check hangs.
actor Readiness {
    private let stores: Stores
    private let environment: ServiceEnvironment
    /// The time of the last check, in milliseconds since 1970, and its result; nil before the first check.
    private var last: (time: Int64, problem: String?)?
    private var check: Task<Void, Never>?
    private var isLate = false
    private var waiting: [CheckedContinuation<String?, Never>] = []
    /// The time of the last request that failed for lack of disk space, in milliseconds since 1970.
    private nonisolated let lastFullDisk = Atomic<Int64>(.min)

    init(_ stores: Stores, _ environment: ServiceEnvironment) {
        self.stores = stores
        self.environment = environment
    }

    /// Notes that a request failed for lack of disk space. The check's own write needs no new page, and may commit meanwhile.
    nonisolated func noteFullDisk() { lastFullDisk.store(environment.now(), ordering: .relaxed) }

    private static let fullDisk = "a write failed for lack of disk space; the log has the details"

    /// Returns the reason that writes fail; nil if writes succeed.
    func problem() async -> String? {
        let full = lastFullDisk.load(ordering: .relaxed)
        if full != .min, (0..<Limits.fullDiskInterval).contains(environment.now() - full) { return Self.fullDisk }
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
            guard (try? await environment.sleep(milliseconds: Limits.readinessPatience)) != nil else { return }
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

/// The failure of a test write to a store.
struct WriteProblem: Sendable {
    let what: String
    /// The error, which is only logged.
    let cause: any Error
}

extension Stores {
    /// Writes to the most recently used stores, and to that of the accounts. Returns the first failure; nil if all writes
    /// succeed.
    nonisolated func problemOfWriting() async -> WriteProblem? {
        async let accounts = problemOfWritingAccounts()
        if let problem = await problemOfWritingStores() { return problem }
        return await accounts
    }

    /// Writes to the store of the accounts, without which no account signs in.
    private nonisolated func problemOfWritingAccounts() async -> WriteProblem? {
        do {
            try await configuration.testWritingAccounts?()
            return nil
        } catch {
            return WriteProblem(what: "the store of the accounts cannot be written", cause: error)
        }
    }

    /// Writes to the open stores; if no store is open, to one existing store.
    private nonisolated func problemOfWritingStores() async -> WriteProblem? {
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
        let failures = await withTaskGroup(of: (id: StoreID, cause: any Error)?.self) { group in
            for store in stores {
                group.addTask {
                    do {
                        try await store.engine.write { try $0.testWriting() }
                        return nil
                    } catch {
                        // The store was closed because it was idle, or its container deleted.
                        return (error as? StorageError)?.isOfClosedStore == true ? nil : (store.id, error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
        }
        guard let first = failures.first else { return nil }
        let what =
            failures.count == stores.count && stores.count > 1
            ? "no store can be written" : "the \(first.id.environment) store of \(first.id.container) cannot be written"
        return WriteProblem(what: what, cause: first.cause)
    }
}

extension NephosService {
    /// Returns the reason that writes fail, for operators; nil if writes succeed.
    package func problemOfWriting() async -> String? { await readiness.problem() }
}
