package import NephosThreads

/// Counts the work of a read, and ends the read at a limit.
///
/// A unit of work is a row, 512 bytes of values, or 20 instructions of SQLite: about a microsecond each. Comparing values
/// costs as reading them once more does. The count is
/// the same on every machine, and counting reads no clock.
package final class ReadMeter {
    package enum Limit: Sendable {
        /// The maximum work of the read, in units.
        case work(Int)
        case time(MonotonicTime)
    }

    /// The maximum work of a short read, in units: about three milliseconds.
    package static let shortRead = 3000
    /// The maximum work of a query's short read, in units: about a millisecond.
    package static let shortQuery = 1000

    private static let unlimited = Int.max / 2
    private static let bytesPerUnit = 512
    private static let instructionsPerUnit = 20

    /// The remaining work, counted in bytes.
    private var budget = unlimited
    private var left = unlimited
    private var deadline: MonotonicTime?
    private var isExceeded = false

    package init() {}

    /// Starts to count the work of a read that ends at `limit`.
    package func begin(_ limit: Limit) {
        isExceeded = false
        switch limit {
        case .work(let units): (budget, deadline) = (min(units, Self.unlimited >> 10) * Self.bytesPerUnit, nil)
        case .time(let time): (budget, deadline) = (Self.unlimited, time)
        }
        left = budget
    }

    /// Ends the read. Later work has no limit.
    /// - Returns: the work of the read in units, and whether the read hit its limit. If it did, its body read only part
    ///   of its data.
    package func end() -> (work: Int, isExceeded: Bool) {
        defer { (budget, left, deadline, isExceeded) = (Self.unlimited, Self.unlimited, nil, false) }
        return ((budget - left) / Self.bytesPerUnit, isExceeded)
    }

    /// Runs a short read, which ends at `work`.
    /// - Throws: any error of `body`, or `LongRead`.
    package func runShort<T>(_ work: Int, for times: RequestTimes?, _ body: () throws -> T) throws -> T {
        begin(.work(work))
        let outcome = Result(catching: body)
        let (done, isExceeded) = end()
        times?.noteRead(work: done)
        if isExceeded { throw LongRead() }
        return try outcome.get()
    }

    // MARK: Statements

    /// Counts a row.
    /// - Throws: `StorageError` `.tooLong` if the read had already reached its limit.
    @inline(__always)
    package func takeRow() throws {
        left &-= Self.bytesPerUnit
        if left < 0 { throw exceeded() }
    }

    @inline(__always)
    package func take(bytes: Int) { left &-= bytes }

    /// Counts work of the read's body on values that it has read.
    /// - Throws: `StorageError` `.tooLong` if the read reaches its limit.
    package func spend(bytes: Int) throws {
        left &-= bytes
        if left < 0 { throw exceeded() }
    }

    /// Counts instructions of the database.
    /// - Returns: whether the running statement has to be interrupted.
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

/// The error of a read that exceeds the limit of a short read. The read saw only part of its data and has to restart as
/// a long read.
package struct LongRead: Error {
    package init() {}
}
