import NephosStorage
import Synchronization

/// An empty store in memory with all migrations, made once in a process. New stores in memory copy its pages, which takes
/// a fraction of the time of the migrations: a test may open a thousand.
///
/// `@unchecked`: the lock guards the connection, which a `Mutex` cannot hold while it copies to another one.
final class EmptyStore: @unchecked Sendable {
    static let shared = EmptyStore()

    private let lock = Mutex(())
    private var made: Connection?

    /// Copies the empty store into an empty database.
    func copy(to target: Connection) throws {
        try lock.withLock { _ in
            if made == nil {
                let connection = try Connection(path: ":memory:", access: .writing)
                try connection.migrate(Migration.all)
                made = connection
            }
            try made?.copy(to: target)
        }
    }
}
