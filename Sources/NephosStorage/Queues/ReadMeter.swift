package import NephosThreads

/// Counts the work of a read, and ends it at a limit.
///
/// A unit of work is a row, 512 bytes of values, or 20 instructions of SQLite's: about a microsecond each. A count is the same
/// on every machine and calls no clock.
package final class ReadMeter {
    package enum Limit: Sendable {
        /// Units.
        case work(Int)
        case time(MonotonicTime)
    }

    /// Units that a short read takes at most: about two milliseconds.
    package static let shortRead = 2500

    private static let unlimited = Int.max / 2
    private static let bytesPerUnit = 512
    private static let instructionsPerUnit = 20

    /// In bytes, as is what is left of it.
    private var budget = unlimited
    private var left = unlimited
    private var deadline: MonotonicTime?
    private var isExceeded = false

    package init() {}

    /// A read begins.
    package func begin(_ limit: Limit) {
        isExceeded = false
        switch limit {
        case .work(let units): (budget, deadline) = (min(units, Self.unlimited >> 10) * Self.bytesPerUnit, nil)
        case .time(let time): (budget, deadline) = (Self.unlimited, time)
        }
        left = budget
    }

    /// The read is over; what follows has no limit.
    /// - Returns: its units, and whether the limit ended it: then its body did not see all that it asked for.
    package func end() -> (work: Int, isExceeded: Bool) {
        defer { (budget, left, deadline, isExceeded) = (Self.unlimited, Self.unlimited, nil, false) }
        return ((budget - left) / Self.bytesPerUnit, isExceeded)
    }

    /// Runs a short read.
    /// - Throws: what `body` throws, or `LongRead`.
    package func runShort<T>(for times: RequestTimes?, _ body: () throws -> T) throws -> T {
        begin(.work(Self.shortRead))
        let outcome = Result(catching: body)
        let (work, isExceeded) = end()
        times?.noteRead(work: work)
        if isExceeded { throw LongRead() }
        return try outcome.get()
    }

    // MARK: Statements

    /// A row was read.
    /// - Throws: `StorageError` `.tooLong` where the limit was reached before.
    @inline(__always)
    package func takeRow() throws {
        left &-= Self.bytesPerUnit
        if left < 0 { throw exceeded() }
    }

    @inline(__always)
    package func take(bytes: Int) { left &-= bytes }

    /// - Returns: whether the statement that runs is to be ended.
    package func take(instructions: Int) -> Bool {
        left &-= instructions / Self.instructionsPerUnit * Self.bytesPerUnit
        let isOver = left < 0 || deadline.map { $0 < .now } ?? false
        if isOver { isExceeded = true }
        return isOver
    }

    private func exceeded() -> StorageError {
        isExceeded = true
        return StorageError(.tooLong, "a read did more work than it may")
    }
}

/// Thrown by a read that did more work than a short one may. It saw a part, and has to begin again as a long one.
package struct LongRead: Error {
    package init() {}
}
