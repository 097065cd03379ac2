import NephosCrypto
import Testing

/// Sealed content, chunk by chunk.
@Suite struct ContentSealTests {
    private static let chunk = ContentSeal.chunkSize
    private static let key = SealKey((0..<32).map { 0x20 + $0 }) ?? .random()
    private static let header = [1] + (0..<15).map { 0x40 + UInt8($0) }

    private static func seal(_ content: [UInt8], _ key: SealKey = key) throws -> [UInt8] {
        let seal = try #require(ContentSeal(key, header: header))
        let count = Int(ContentSeal.chunkCount(of: Int64(content.count)))
        return (0..<count).reduce(into: seal.header) { sealed, index in
            let part = Array(content[(index * chunk)..<min(content.count, (index + 1) * chunk)])
            var output = [UInt8](repeating: 0, count: part.count + ContentSeal.tagSize)
            part.withUnsafeBytes { part in
                output.withUnsafeMutableBytes {
                    seal.seal(part, index: Int64(index), isLast: index == count - 1, into: $0)
                }
            }
            sealed += output
        }
    }

    private static func open(
        _ sealed: [UInt8], at index: Int64, isLast: Bool, _ key: SealKey = key
    ) throws -> [UInt8]? {
        let seal = try #require(ContentSeal(key, header: sealed.prefix(ContentSeal.headerSize)))
        let start = ContentSeal.headerSize + Int(index) * ContentSeal.sealedChunkSize
        let part = Array(sealed[start..<min(sealed.count, start + ContentSeal.sealedChunkSize)])
        var output = [UInt8](repeating: 0, count: max(0, part.count - ContentSeal.tagSize))
        let opens = part.withUnsafeBytes { part in
            output.withUnsafeMutableBytes { seal.open(part, index: index, isLast: isLast, into: $0) }
        }
        return opens ? output : nil
    }

    @Test func `sealed content matches the page's test vectors`() throws {
        let text = try Self.seal(Array("Grüße".utf8))
        #expect(text.hex == "01404142434445464748494a4b4c4d4e" + "3233533e05ea37" + "a0fb160c90dc356247bddf1ac7de8c10")
        let nothing = try Self.seal([])
        #expect(nothing.hex == "01404142434445464748494a4b4c4d4e" + "a2179cbf8327e3c41570e43cb04168f4")
        let two = try Self.seal([UInt8](repeating: 0, count: Self.chunk) + Array("x".utf8))
        let first = ContentSeal.headerSize + ContentSeal.sealedChunkSize
        #expect(two.count == 65_585)
        #expect(two[(first - 16)..<first].hex == "8695a991367259c4c5984a0b159e5ed2")
        #expect(two[first...].hex == "d2" + "dd7ed8e8bb21bc565b0f991ec4cae686")
    }

    @Test(
        arguments: [
            (0, 32), (1, 33), (65_536, 65_568), (65_537, 65_585), (131_072, 131_120), (50 << 20, 52_441_616),
        ] as [(Int64, Int64)])
    func `sealed sizes follow from content sizes`(content: Int64, sealed: Int64) {
        #expect(ContentSeal.sealedSize(of: content) == sealed)
        #expect(ContentSeal.size(ofSealed: sealed) == content)
    }

    @Test(arguments: [0, 16, 31, 65_569, 65_584, 131_121] as [Int64])
    func `impossible sealed sizes have no content size`(size: Int64) {
        #expect(ContentSeal.size(ofSealed: size) == nil)
    }

    @Test func `a chunk opens alone, only at its position and only with its key`() throws {
        let content = (0..<(2 * Self.chunk + 5)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let sealed = try Self.seal(content)
        #expect(try Self.open(sealed, at: 1, isLast: false) == Array(content[Self.chunk..<(2 * Self.chunk)]))
        #expect(try Self.open(sealed, at: 2, isLast: true) == Array(content[(2 * Self.chunk)...]))
        #expect(try Self.open(sealed, at: 1, isLast: true) == nil, "it is not the last")
        #expect(try Self.open(sealed, at: 2, isLast: false) == nil, "it is the last")
        #expect(try Self.open(sealed, at: 1, isLast: false, .random()) == nil, "another key")
        let start = ContentSeal.headerSize
        let size = ContentSeal.sealedChunkSize
        let swapped = sealed[..<start] + sealed[(start + size)..<(start + 2 * size)] + sealed[start..<(start + size)]
        #expect(try Self.open(Array(swapped), at: 0, isLast: false) == nil, "another place")
        for index in [1, 15, start, start + 100, start + size - 1] {
            var changed = sealed
            changed[index] ^= 1
            #expect(try Self.open(changed, at: 0, isLast: false) == nil, "byte \(index)")
        }
    }

    @Test func `a header of another length or format is refused`() {
        #expect(ContentSeal(Self.key, header: Self.header.dropLast()) == nil)
        #expect(ContentSeal(Self.key, header: [2] + Self.header.dropFirst()) == nil)
    }

    @Test func `sealing twice gives different bytes`() {
        #expect(ContentSeal(Self.key).header != ContentSeal(Self.key).header)
    }
}

extension Collection<UInt8> {
    fileprivate var hex: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
