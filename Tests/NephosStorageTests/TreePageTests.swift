import Glibc
import Testing

@testable import NephosSQLite

/// Pages of SQLite's that may be anything.
@Suite struct TreePageTests {
    @Test(
        "Whatever a page's bytes are, nothing is read but the page and 256 bytes behind it",
        arguments: [512, 4096, 65536])
    func anyBytes(size: Int) throws {
        // Behind these bytes is memory that may not be read: who does ends the test's process.
        let room = (size + 256 + 4095) / 4096 * 4096
        let memory = try #require(
            mmap(nil, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        try #require(memory != MAP_FAILED && mprotect(memory + room, 4096, PROT_NONE) == 0)
        defer { munmap(memory, room + 4096) }
        let bytes = UnsafeMutableRawBufferPointer(start: memory + room - size - 256, count: size + 256)
        let page = TreePage(bytes: UnsafeRawPointer(memory + room - size - 256), size: size)

        var random = SplitMix(state: UInt64(size))
        var (rows, numbers) = (0, 0)
        for round in 0..<60 {
            // Some of random bytes, some of those that make long numbers and far places.
            for index in bytes.indices {
                bytes[index] = UInt8([random.below(256), 255, random.below(16)][round % 3])
            }
            if round % 2 == 0 { bytes[3] = UInt8(random.below(2)) }
            for index in -1...page.cellCount {
                _ = page.row(index)
                _ = TreePage.row(at: page.cell(at: page.place(of: index, .tableInterior)), .tableInterior)
                _ = page.child(index)
                let content = page.content(index)
                let start = try #require(content.baseAddress) - page.bytes
                #expect(start >= 0 && content.count >= 0 && (content.isEmpty || start + content.count <= size))
                rows += content.isEmpty ? 0 : 1
                numbers += page.lastNumber(index) == nil ? 0 : 1
            }
        }
        #expect(rows > 0 && numbers > 0)
    }

    @Test("The last column of an entry is the number that it is, of any width")
    func numbers() {
        let values: [(Int64, type: UInt8, width: Int)] = [
            (0, 8, 0), (1, 9, 0), (-1, 1, 1), (127, 1, 1), (-32768, 2, 2), (300, 2, 2), (8_388_607, 3, 3),
            (-8_388_608, 3, 3), (.init(Int32.min), 4, 4), (1 << 40, 5, 6), (-(1 << 40), 5, 6), (.max, 6, 8),
            (.min, 6, 8),
        ]
        let cells = values.map { value in
            let number = (0..<value.width).map { UInt8(truncatingIfNeeded: value.0 >> (8 * (value.width - 1 - $0))) }
            // A text of three bytes, and the number.
            let entry: [UInt8] = [3, 19, value.type] + Array("abc".utf8) + number
            return [UInt8(entry.count)] + entry
        }
        let bytes = page(.indexLeaf, cells)
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            let page = TreePage(bytes: start, size: 512)
            #expect(page.kind == .indexLeaf)
            #expect((0..<page.cellCount).map { page.lastNumber($0) } == values.map { $0.0 })
        }
    }

    @Test("A page with pages below names them and the last row of each, and one behind the last cell")
    func children() {
        let cells: [(page: UInt8, row: Int64, bytes: [UInt8])] = [
            (7, 5, [5]), (9, 300, [0x82, 0x2C]), (4, 20_000, [0x81, 0x9C, 0x20]),
        ]
        var bytes = page(.tableInterior, cells.map { [0, 0, 0, $0.page] + $0.bytes })
        bytes[11] = 31
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            let page = TreePage(bytes: start, size: 512)
            #expect(page.kind == .tableInterior)
            #expect((0...page.cellCount).map { page.child($0) } == [7, 9, 4, 31])
            let rows = (0..<page.cellCount).map { index in
                TreePage.row(at: page.cell(at: page.place(of: index, .tableInterior)), .tableInterior)
            }
            #expect(rows == cells.map(\.row))
        }
    }

    /// A page of 512 bytes, and those that are behind it.
    private func page(_ kind: TreePage.Kind, _ cells: [[UInt8]]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 512 + 256)
        (bytes[0], bytes[4]) = (kind.rawValue, UInt8(cells.count))
        var place = 512
        for (index, cell) in cells.enumerated() {
            place -= cell.count
            bytes.replaceSubrange(place..<place + cell.count, with: cell)
            let pointer = kind.header + 2 * index
            (bytes[pointer], bytes[pointer + 1]) = (UInt8(place >> 8), UInt8(place & 255))
        }
        return bytes
    }
}
