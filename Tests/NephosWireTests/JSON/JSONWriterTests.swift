import NephosTesting
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

    /// An array of strings, about `size` bytes long, that was written on its own.
    private func array(size: Int, headroom: Int) -> (written: JSONBytes, text: String) {
        var writer = JSONWriter(reserving: 64, headroom: headroom)
        writer.beginArray()
        var elements: [String] = []
        while writer.count < size {
            writer.string("element")
            elements.append("\"element\"")
        }
        writer.endArray()
        return (writer.finishInPlace(), "[\(elements.joined(separator: ","))]")
    }

    @Test(arguments: [0, 16, 640], [1, 3000, 200_000])
    func `encoded JSON is embedded, with or without spare capacity around it`(
        _ headroom: Int, _ size: Int
    ) {
        let (inner, text) = array(size: size, headroom: headroom)
        // The second time its room is taken.
        for _ in 0..<2 {
            var writer = JSONWriter(reserving: 0)
            writer.beginObject()
            writer.key("records")
            writer.verbatim(inner)
            // More than is reserved behind it.
            for _ in 0..<100 {
                writer.key("name")
                writer.string(String(repeating: "x", count: 3000))
            }
            writer.key("again")
            writer.verbatim(inner)
            writer.endObject()
            let rest = String(repeating: "\"name\":\"\(String(repeating: "x", count: 3000))\",", count: 100)
            #expect(writer.finish() == Array("{\"records\":\(text),\(rest)\"again\":\(text)}".utf8))
        }
        #expect(inner == JSONBytes(text))
    }

    @Test func `with spare capacity the document is one part, and owns its bytes`() {
        var parts: [JSONBytes] = []
        do {
            let (inner, _) = array(size: 200_000, headroom: 64)
            var writer = JSONWriter(reserving: 0)
            writer.beginObject()
            writer.key("records")
            writer.verbatim(inner)
            writer.endObject()
            parts = writer.finishInParts()
        }
        #expect(parts.count == 1)
        #expect(parts.joined().starts(with: "{\"records\":[\"element\",".utf8))
        #expect(parts.joined().suffix(12) == Array(",\"element\"]}".utf8).suffix(12))
    }

    private func written(_ value: Int64) -> String {
        var writer = JSONWriter(reserving: 64)
        writer.int64(value)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
