/// What may be a page of a tree of SQLite's, where it lies (sqlite.org, Database File Format, B-tree Pages).
///
/// It may be older than what SQLite reads, or be written meanwhile. Then what is told of it is wrong, but whatever its
/// bytes are, nothing is read but the page and the few bytes behind it that are there too.
struct TreePage {
    let bytes: UnsafeRawPointer
    /// Bytes of a page, a power of two.
    let size: Int

    /// What a page can be, by its first byte. Others are of no use here.
    enum Kind: UInt8 {
        /// Of a table, with pages below.
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13

        /// Bytes before those that say where the cells are.
        var header: Int { self == .tableInterior ? 12 : 8 }
    }

    var kind: Kind? { Kind(rawValue: bytes.load(as: UInt8.self)) }

    /// No more than any page has room for.
    var cellCount: Int { min(Self.number16(bytes + 3), (size - 12) / 2) }

    // MARK: Cells

    /// Where a page says at which of its bytes a cell is.
    @inline(__always) func place(of index: Int, _ kind: Kind) -> UnsafeRawPointer {
        bytes + (kind.header &+ 2 &* index)
    }

    @inline(__always) func cell(at place: UnsafeRawPointer) -> UnsafeRawPointer {
        bytes + (Self.number16(place) & (size &- 1))
    }

    @inline(__always) private func cell(_ index: Int, _ kind: Kind) -> UnsafeRawPointer {
        cell(at: place(of: index, kind))
    }

    /// The number of the row at a cell of a table's leaf, or of the last row below a cell of a page above.
    @inline(__always) static func row(at cell: UnsafeRawPointer, _ kind: Kind) -> Int64 {
        var place = cell
        if kind == .tableInterior { place += 4 } else { _ = variable(&place) }
        return variable(&place)
    }

    @inline(__always) func row(_ index: Int) -> Int64 { Self.row(at: cell(index, .tableLeaf), .tableLeaf) }

    /// The page below a cell of a table's page that has pages below, or behind its last cell.
    func child(_ index: Int) -> Int {
        let place = index < cellCount ? cell(index, .tableInterior) : bytes + 8
        return Int(UInt32(bigEndian: place.loadUnaligned(as: UInt32.self)))
    }

    /// The row at a cell of a table's leaf; of one that does not fit on a page, what is there at least.
    func content(_ index: Int) -> UnsafeRawBufferPointer {
        var place = cell(index, .tableLeaf)
        let count = Self.variable(&place)
        _ = Self.variable(&place)
        let local = count <= size - 35 ? max(0, Int(truncatingIfNeeded: count)) : (size - 12) * 32 / 255 - 23
        return UnsafeRawBufferPointer(start: place, count: min(local, max(0, bytes + size - place)))
    }

    /// The last column at a cell of an index's leaf, where it is a whole number and the entry lies there whole.
    @inline(__always) func lastNumber(_ index: Int) -> Int64? {
        var place = cell(index, .indexLeaf)
        let count = Self.variable(&place)
        let header = Int64(place.load(as: UInt8.self))
        let end = place - bytes &+ Int(truncatingIfNeeded: count)
        // A longer entry goes on elsewhere.
        guard count <= (size - 12) * 64 / 255 - 23 else { return nil }
        guard header > 1, header < min(count, 128), end >= 8, end <= size else { return nil }
        let width: Int
        switch (place + Int(header) - 1).load(as: UInt8.self) {
        case let count where (1...4).contains(count): width = Int(count)
        case 5: width = 6
        case 6: width = 8
        case 8: return 0
        case 9: return 1
        default: return nil
        }
        let last = Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self)))
        let shift = Int64.bitWidth - 8 * width
        return (last << shift) >> shift
    }

    @inline(__always) private static func number16(_ place: UnsafeRawPointer) -> Int {
        Int(UInt16(bigEndian: place.loadUnaligned(as: UInt16.self)))
    }

    /// Seven bits a byte, the eighth says that another follows; a ninth byte is whole.
    @inline(__always) private static func variable(_ place: inout UnsafeRawPointer) -> Int64 {
        var value: Int64 = 0
        for _ in 0..<8 {
            let byte = place.load(as: UInt8.self)
            place += 1
            value = (value << 7) | Int64(byte & 0x7F)
            if byte < 0x80 { return value }
        }
        value = (value << 8) | Int64(place.load(as: UInt8.self))
        place += 1
        return value
    }
}
