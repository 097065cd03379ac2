import Glibc
import NephosWire

/// The lines of an export, with a header before those of each database.
final class ExportWriter {
    private let file: OutputFile
    private var progress = Progress("exported")
    /// The header of the database whose lines come next, where it is not written yet.
    private var header: ExportHeader?
    /// The header of the first database.
    private var first: ExportHeader?
    private var isEmpty = true
    private var files = 0
    private var encrypted = 0

    init(_ file: OutputFile) { self.file = file }

    /// - Parameter isKeptEmpty: whether the database has its header also where it has no lines.
    func begin(_ header: ExportHeader, isKeptEmpty: Bool) throws {
        if first == nil { first = header }
        self.header = header
        if isKeptEmpty { try writeHeader() }
    }

    func write(_ line: [UInt8]) throws {
        try writeHeader()
        try file.write(line)
    }

    func write(_ record: RecordDictionary, in zone: String) throws {
        let encoded = try RecordLine.encode(record, in: zone)
        try write(encoded.line)
        files += encoded.files
        encrypted += encoded.encrypted
        progress.advance()
    }

    private func writeHeader() throws {
        guard let header else { return }
        self.header = nil
        isEmpty = false
        try file.write(header.encoded())
    }

    func finish() throws {
        if isEmpty {
            // An export without any line says where it is from.
            header = first
            try writeHeader()
        }
        try file.close()
        progress.finish()
        if files > 0 { Console.note("\(files) fields hold files, which are not exported.") }
        if encrypted > 0 { Console.note("\(encrypted) fields are encrypted, which are not exported.") }
    }
}

/// Where lines are written: a file, or standard output.
final class OutputFile {
    private static let bufferSize = 64 * 1024

    private let path: String?
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ path: String?) throws {
        self.path = path
        descriptor = path.map { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) } ?? STDOUT_FILENO
        guard descriptor >= 0 else { throw failure }
        buffer.reserveCapacity(Self.bufferSize)
    }

    private var failure: Cloud.Failure {
        Cloud.Failure(message: "cannot write \(path ?? "standard output"): \(String(cString: strerror(errno)))")
    }

    func write(_ line: [UInt8]) throws {
        buffer += line
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws {
        try buffer.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw failure }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    func close() throws {
        try flush()
        if path != nil, Glibc.close(descriptor) != 0 { throw failure }
    }
}
