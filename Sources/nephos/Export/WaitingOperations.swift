import Glibc
import NephosWire

/// An operation of an export, with the number of its line.
struct NumberedOperation {
    var line: Int
    var operation: RecordOperation
}

/// The operations that wait, in a temporary file, because there may be as many as the export has lines.
final class WaitingOperations {
    private(set) var count = 0
    private var file: (path: String, output: OutputFile)?

    var isEmpty: Bool { count == 0 }

    deinit { if let file { unlink(file.path) } }

    func add(_ operation: NumberedOperation) throws {
        let output = try file?.output ?? make()
        let body = ModifyRecordsRequest(operations: [operation.operation]).encoded()
        try output.write(Array("\(operation.line) ".utf8) + body)
        count += 1
    }

    private func make() throws -> OutputFile {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let path = "\(folder)/nephos-import-\(getpid())-\(UInt64.random(in: .min ... .max))"
        let output = try OutputFile(path)
        file = (path, output)
        return output
    }

    /// Passes the operations to `body` in order, in batches that fit in one request.
    func forEachBatch(limit: Int, bytes: Int, _ body: ([NumberedOperation]) throws -> Void) throws {
        var (batch, size): ([NumberedOperation], Int) = ([], 0)
        try visit { operation, length in
            if !batch.isEmpty, batch.count == limit || size + length > bytes {
                try body(batch)
                (batch, size) = ([], 0)
            }
            batch.append(operation)
            size += length
        }
        if !batch.isEmpty { try body(batch) }
    }

    /// - Parameter body: receives each operation, and its size in bytes.
    func visit(_ body: (NumberedOperation, Int) throws -> Void) throws {
        guard let file else { return }
        try file.output.flush()
        let lines = try LineReader(file.path)
        while let line = try lines.next() {
            let number = line.prefix { $0 != UInt8(ascii: " ") }
            let request = try ModifyRecordsRequest(decoding: Array(line.dropFirst(number.count + 1)))
            guard let operation = request.operations.first else { continue }
            let parsed = Int(String(decoding: number, as: UTF8.self)) ?? 0
            try body(NumberedOperation(line: parsed, operation: operation), line.count)
        }
    }
}
