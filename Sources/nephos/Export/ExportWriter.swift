import Glibc
import NephosWire

/// Writes the lines of an export. A header precedes the lines of each database.
final class ExportWriter {
    private let file: OutputFile
    private var progress = Progress("exported")
    /// The header of the current database, until it is written; nil afterwards.
    private var header: ExportHeader?
    /// The header of the first database; nil before it begins.
    private var first: ExportHeader?
    private var isEmpty = true
    /// The directory for asset files; nil to omit the files.
    private let assets: AssetFolder?
    private var leftOut = LeftOut()

    /// The counts of content that an export cannot represent.
    private struct LeftOut {
        var encrypted = 0
        var sealed = 0
        var files = 0
        /// The number of files that the service no longer has as they were saved.
        var lost = 0
    }

    /// The maximum number of lost files per export that are listed by name.
    private static let listed = 20

    init(_ file: OutputFile, _ assets: AssetFolder?) {
        self.file = file
        self.assets = assets
    }

    /// - Parameter isKeptEmpty: whether the header is written even if the database has no lines.
    func begin(_ header: ExportHeader, isKeptEmpty: Bool) throws {
        if first == nil { first = header }
        self.header = header
        if isKeptEmpty { try writeHeader() }
    }

    func write(_ line: [UInt8]) throws {
        try writeHeader()
        try file.write(TerminalSafe.json(line))
    }

    func write(_ record: RecordDictionary, in zone: String, of cloud: Cloud) throws {
        let encoded = try RecordLine.encode(record, in: zone) { asset, field in
            do {
                return try take(asset, from: cloud)
            } catch let failure as Cloud.FileFailure {
                note(failure, field, record, zone)
                return nil
            }
        }
        try write(encoded.line)
        leftOut.encrypted += encoded.encrypted
        progress.advance()
    }

    private func take(_ asset: AssetValue, from cloud: Cloud) throws -> AssetValue? {
        guard asset.seal == nil else {
            leftOut.sealed += 1
            return nil
        }
        guard let assets else {
            leftOut.files += 1
            return nil
        }
        return try assets.take(asset, from: cloud)
    }

    private func note(_ failure: Cloud.FileFailure, _ field: String, _ record: RecordDictionary, _ zone: String) {
        leftOut.lost += 1
        guard leftOut.lost <= Self.listed else { return }
        Console.note(
            "the file of field '\(field)' of record '\(record.recordName)' in zone '\(zone)' is not exported:"
                + " \(failure.message)")
    }

    private func writeHeader() throws {
        guard let header else { return }
        self.header = nil
        isEmpty = false
        try file.write(TerminalSafe.json(header.encoded()))
    }

    func finish() throws {
        if isEmpty {
            // An export without lines still names its source.
            header = first
            try writeHeader()
        }
        try file.close()
        progress.finish()
        if leftOut.files > 0 {
            Console.note("\(leftOut.files) files of assets are not exported: '--assets DIRECTORY' takes them.")
        }
        if leftOut.sealed > 0 {
            Console.note(
                "\(leftOut.sealed) files of assets are sealed with keys of their account's and not exported:"
                    + " 'nephos backup' takes them.")
        }
        if leftOut.encrypted > 0 { Console.note("\(leftOut.encrypted) fields are encrypted and not exported.") }
        if leftOut.lost > 0 {
            throw Cloud.Failure(message: "\(leftOut.lost) files are not in the export, and their fields left out.")
        }
    }
}

/// The output of an export, which is a file or standard output.
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

    /// Writes the buffered bytes.
    func flush() throws {
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
