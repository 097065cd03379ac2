import NephosTesting
import Testing

@testable import NephosPasskeys

/// The counts of arrays, maps and strings (RFC 8949 §3), which libcbor believes before it has read an item.
@Suite struct CBORCountsTests {
    @Test(
        arguments: [
            [0x80], [0x81, 0x00], [0xa1, 0x01, 0x02], [0x98, 0x02, 0x00, 0x00], [0x43, 1, 2, 3], [0x9f, 0x00, 0xff],
            [0xc0, 0x00],
            [0x82, 0x81, 0x00, 0xa1, 0x01, 0x41, 0x00], [],
        ] as [[UInt8]])
    func `an array, a map or a string with its items fits`(_ bytes: [UInt8]) {
        #expect(CBORCounts.fit(bytes[...]))
    }

    @Test(
        arguments: [
            [0x82, 0x00], [0xa1, 0x00], [0x9a, 0x40, 0, 0, 0, 0x00], [0xbb, 0, 0, 1, 0, 0, 0, 0, 0], [0x42, 0],
            [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            [0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            [0x81, 0x9a, 0x10, 0, 0, 0, 0],
            [0x85, 0x84, 0x83, 0x00, 0x00, 0x00, 0x00], [0xd8, 0x20, 0x9a, 0x10, 0, 0, 0], [0x9a, 0x40, 0], [0x9c],
            [0x18],
        ] as [[UInt8]])
    func `a claim of more items or bytes than follow is refused`(_ bytes: [UInt8]) {
        #expect(!CBORCounts.fit(bytes[...]))
    }

    @Test(arguments: FuzzBudget.seeds)
    func `a claim too large is refused behind any whole item`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for step in 0..<FuzzBudget.steps(2000) {
            let count = Int.random(in: 0..<24, using: &random)
            let text = (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
            let whole = [0x60 | UInt8(count)] + text
            #expect(CBORCounts.fit(whole[...]), "seed \(seed), step \(step)")
            #expect(
                !CBORCounts.fit((whole + [0x9a, 0xff, 0xff, 0xff, 0xff] + text)[...]), "seed \(seed), step \(step)")
        }
    }

    @Test(arguments: [SoftwarePasskey.Algorithm.es256, .edDSA, .rs256])
    func `a passkey whose key claims too many items is refused`(_ algorithm: SoftwarePasskey.Algorithm) throws {
        let passkey = try SoftwarePasskey(algorithm)
        let data = passkey.authenticatorData(relyingParty: "cloud.example.org", isNew: true)
        #expect(FidoVerifier().credential(in: data) != nil)
        let place = 55 + passkey.id.count
        #expect(data[place] >> 5 == 5, "a map is where the key begins")
        for claim: [UInt8] in [[0xba, 0x00, 0x01, 0x00, 0x00], [0xbf, 0x9a, 0x00, 0x01, 0x00, 0x00]] {
            #expect(FidoVerifier().credential(in: data[..<place] + claim + data[(place + 1)...]) == nil)
        }
    }
}
