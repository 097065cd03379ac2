import NephosCrypto
import NephosStorage
import NephosTesting
import Testing

@testable import NephosService

/// An account's positions in the shares of a zone.
@Suite struct SharedZoneTokenTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `positions are found by their shares, whatever the order in which the account joined`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let strings = TokenCodec(key: .random(), database: "shared _a")
        var token = SharedZoneToken(zone: 7)
        var expected: [Int64: Int64] = [:]
        for step in 0..<60 {
            let share = Int64.random(in: 1...40, using: &random)
            if random.chance(25), let position = token.positions.first(where: { $0.share == share }) {
                token.remove(position)
                expected[share] = nil
                continue
            }
            let index = token.index(ofShare: share) {
                .init(share: share, joined: share, sequence: 0, deletionsKnown: 0)
            }
            token[index].sequence = Int64(step)
            expected[share] = Int64(step)
            #expect(token.positions.map(\.share) == expected.keys.sorted())
            #expect(token.positions.allSatisfy { expected[$0.share] == $0.sequence })
            token = try #require(SharedZoneToken(token.text(strings), strings))
        }
    }
}
