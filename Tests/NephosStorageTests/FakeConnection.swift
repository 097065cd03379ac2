import Synchronization

@testable import NephosStorage

/// What happened, in order.
final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

/// A connection that only takes notes.
final class FakeConnection: QueuedConnection {
    static let dialect = SQLDialect(key: "", rowKey: "", integer: "", text: "", bytes: "", clustered: "")

    let log: Log
    let meter = ReadMeter()
    let checkpointNanoseconds: Int64 = 0
    var fails: Set<String> = []
    var isInTransaction = false

    init(log: Log = Log()) {
        self.log = log
    }

    private func note(_ line: String) throws {
        log.add(line)
        if fails.contains(line) { throw StorageError(.inputOutput, line) }
    }

    func prepare(_ sql: SQL) throws -> any SQLStatement {
        if sql != .lastSequence { try note("\(sql)") }
        return FakeStatement()
    }

    func begin(writing: Bool) throws {
        try note("begin")
        isInTransaction = true
    }

    func commit() throws {
        try note("commit")
        isInTransaction = false
    }

    func rollback() {
        guard isInTransaction else { return }
        log.add("rollback")
        isInTransaction = false
    }

    func noteDamage(_ record: RecordRowView) { log.add("damage") }

    func close() {
        log.add("close")
    }

    func execute(_ script: String) throws {}
    func schemaVersion() throws -> Int { 0 }
    func setSchemaVersion(_ version: Int) throws {}
}

final class FakeStatement: SQLStatement {
    let changes = 0

    func bind(_ value: Int64) throws -> FakeStatement { self }
    func bind(_ value: String?) throws -> FakeStatement { self }
    func bind(_ value: [UInt8]) throws -> FakeStatement { self }
    func bind(_ values: [String]) throws -> FakeStatement { self }
    func step() throws -> Bool { true }
    func insert() throws -> Int64? { 1 }
    func reset() {}
    func integer(_ column: Int) -> Int64 { 0 }
    func text(_ column: Int) -> String { "" }
    func optionalText(_ column: Int) -> String? { nil }
    func bytes(_ column: Int) -> [UInt8] { [] }
    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}
