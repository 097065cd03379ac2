import NephosStorage
import Synchronization

/// The writes that wait for an owner's line on this server, which are committed together: their bodies run one after another
/// in one transaction. What goes wrong there runs again by itself.
final class OwnerQueue: Sendable {
    enum Outcome: Sendable {
        case done(any Sendable)
        /// It changed nothing.
        case failed(any Error)
        /// It is to run by itself. The argument says whether its commit was under way when the connection was lost.
        case alone(wasCommitting: Bool)
    }

    private struct Waiting: Sendable {
        let body: @Sendable (StorageTransaction) throws -> any Sendable
        let continuation: UnsafeContinuation<Outcome, Never>
    }

    /// The most writes of a transaction.
    private static let most = 64

    /// Of each owner of whom a write is under way or waits for a connection.
    private let waiting = Mutex<[OwnerID: [Waiting]]>([:])
    private let pool: PostgresPool
    private let store: StoreNumber

    init(_ pool: PostgresPool, _ store: StoreNumber) {
        self.pool = pool
        self.store = store
    }

    func write<T: Sendable>(
        of owner: OwnerID, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async -> Outcome {
        await withUnsafeContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                let isFirst = waiting[owner] == nil
                waiting[owner, default: []].append(Waiting(body: body, continuation: continuation))
                return isFirst
            }
            if isFirst { takeTurn(owner) }
        }
    }

    /// Has the waiting writes of an owner run once a connection is free. After that the owner waits its turn again, behind others.
    private func takeTurn(_ owner: OwnerID) {
        pool.add { [self] connection in
            var answers: [(UnsafeContinuation<Outcome, Never>, Outcome)] = []
            switch connection {
            case .success(let connection):
                let group = take(Self.most, of: owner)
                answers = Array(zip(group.map(\.continuation), run(group.map(\.body), of: owner, connection)))
            case .failure(let error):
                answers = take(.max, of: owner).map { ($0.continuation, .failed(error)) }
            }
            return { [self] in
                for (continuation, outcome) in answers { continuation.resume(returning: outcome) }
                let isOver = waiting.withLock { waiting in
                    if waiting[owner]?.isEmpty == true { waiting[owner] = nil }
                    return waiting[owner] == nil
                }
                if !isOver { takeTurn(owner) }
            }
        }
    }

    private func take(_ count: Int, of owner: OwnerID) -> [Waiting] {
        waiting.withLock { waiting in
            let all = waiting[owner] ?? []
            waiting[owner] = Array(all.dropFirst(count))
            return Array(all.prefix(count))
        }
    }

    private func run(
        _ bodies: [@Sendable (StorageTransaction) throws -> any Sendable], of owner: OwnerID,
        _ connection: PostgresConnection
    ) -> [Outcome] {
        var outcomes: [Outcome] = []
        /// Whether each may run again though it was committed.
        var areRepeatable: [Bool] = []
        do {
            try connection.use(store)
            connection.begin(lines: Lines(owners: [owner]))
            let sequences = connection.sequences()
            for body in bodies {
                try connection.beginBody()
                do {
                    outcomes.append(.done(try connection.run(body, sequences)))
                } catch {
                    // It may have failed because of what was stale.
                    if connection.retryReason == nil { try connection.checkVersions() }
                    let isItsOwn = connection.retryReason == nil
                    guard connection.retryReason != .versions, connection.retryReason != .lineage, connection.undoBody()
                    else {
                        throw error
                    }
                    outcomes.append(isItsOwn ? .failed(error) : .alone(wasCommitting: false))
                }
                areRepeatable.append(connection.isRepeatable)
            }
            try connection.commit()
            return outcomes
        } catch {
            let wasCommitting = connection.isBroken && connection.isCommitting
            connection.rollback()
            // Also one that was refused: it may have seen what another of the group wrote.
            return bodies.indices.map { index in
                guard wasCommitting, case .done = outcomes[index] else { return .alone(wasCommitting: false) }
                return areRepeatable[index]
                    ? .alone(wasCommitting: true) : .failed(PostgresEngine.unknownOutcome(error))
            }
        }
    }
}
