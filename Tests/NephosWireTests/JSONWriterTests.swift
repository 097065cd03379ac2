import Testing

@testable import NephosWire

struct JSONWriterTests {
    @Test(arguments: [
        0, 1, 9, 10, 99, 100, 9999, 10_000, 99_999_999, 100_000_000, 9_999_999_999_999_999, 10_000_000_000_000_000,
        Int64.max, -1, -10, Int64.min,
    ])
    func `an integer is written as its decimal digits`(_ value: Int64) {
        #expect(written(value) == String(value))
        #expect(written(value &+ 1) == String(value &+ 1))
        #expect(written(value &- 1) == String(value &- 1))
    }

    @Test func `integers of any length are written as their decimal digits`() {
        let seed = freshSeed()
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            let value = Int64(bitPattern: random.next()) >> Int64(random.below(64))
            #expect(written(value) == String(value), "seed \(seed)")
        }
    }

    @Test func `a string of any length with something to escape anywhere reads back`() throws {
        for length in 0..<40 {
            for place in 0..<max(1, length) {
                for character in ["\"", "\\", "\n", "\u{1}", "é"] {
                    var text = String(repeating: "a", count: length)
                    if length > 0 {
                        let index = text.index(text.startIndex, offsetBy: place)
                        text.replaceSubrange(index...index, with: character)
                    }
                    var writer = JSONWriter(reserving: 0)
                    writer.string(text)
                    let read = try JSONDocument.parse(writer.finish()) { (json) throws(WireError) in
                        try json.string()
                    }
                    #expect(read == text)
                }
            }
        }
    }

    private func written(_ value: Int64) -> String {
        var writer = JSONWriter(reserving: 64)
        writer.int64(value)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
