import NephosService

/// The format of an export: a tar archive (POSIX.1-2001, `pax`), which is written as its files are read.
enum TarArchive {
    private static let blockSize = 512
    /// The largest name that a header has room for. A longer one is in a header of its own, which precedes it.
    private static let longestName = 100

    /// The blocks after the last file.
    static let end = [UInt8](repeating: 0, count: 2 * blockSize)

    /// Returns a piece of a file, after the file's header if it is the first, and before the rest of its last block.
    /// - Parameter time: the time of the file, in milliseconds since 1970.
    static func encode(_ piece: ExportPiece, time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        if piece.offset == 0 { bytes += header(piece.path, size: piece.size, time: time) }
        bytes += piece.bytes
        if piece.offset + Int64(piece.bytes.count) == piece.size { bytes += padding(after: piece.size) }
        return bytes
    }

    private static func header(_ path: String, size: Int64, time: Int64) -> [UInt8] {
        let name = Array(path.utf8)
        guard name.count > longestName else { return block(name, size: size, time: time, kind: "0") }
        let record = pathRecord(path)
        return block(Array("pax".utf8), size: Int64(record.count), time: time, kind: "x") + record
            + padding(after: Int64(record.count))
            + block(Array(name.suffix(longestName)), size: size, time: time, kind: "0")
    }

    /// Returns `LENGTH path=PATH`, with the length of the whole line in bytes, its own digits included.
    private static func pathRecord(_ path: String) -> [UInt8] {
        let rest = " path=\(path)\n"
        var length = rest.utf8.count
        // A digit more makes the line longer, which may make a further digit.
        while length < rest.utf8.count + String(length).utf8.count { length += 1 }
        return Array("\(length)\(rest)".utf8)
    }

    private static func block(_ name: [UInt8], size: Int64, time: Int64, kind: Unicode.Scalar) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: blockSize)
        func put(_ bytes: [UInt8], at offset: Int) { block.replaceSubrange(offset..<offset + bytes.count, with: bytes) }
        put(name, at: 0)
        put(octal(0o600, digits: 7), at: 100)
        put(octal(0, digits: 7), at: 108)
        put(octal(0, digits: 7), at: 116)
        put(octal(size, digits: 11), at: 124)
        put(octal(time / 1000, digits: 11), at: 136)
        put([UInt8(ascii: kind)], at: 156)
        put(Array("ustar\u{0}00".utf8), at: 257)
        // The sum is of a header whose own sum is spaces.
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148)
        put(octal(block.reduce(0) { $0 + Int64($1) }, digits: 6) + [0], at: 148)
        return block
    }

    private static func octal(_ value: Int64, digits: Int) -> [UInt8] {
        let text = String(value, radix: 8)
        return Array((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8)
    }

    private static func padding(after size: Int64) -> [UInt8] {
        [UInt8](repeating: 0, count: (blockSize - Int(size % Int64(blockSize))) % blockSize)
    }
}
