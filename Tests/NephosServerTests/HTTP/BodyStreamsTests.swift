import Testing

@testable import NephosServer

/// Bodies that arrive side by side, and what they have in memory.
@Suite struct BodyStreamsTests {
    @Test func `the more bodies arrive the smaller are the pieces of the next ones`() {
        let streams = BodyStreams()
        let open = (0..<2100).map { _ in streams.begin() }
        let sizes = open.map(\.pieceSize)
        #expect(sizes[0] == BodyStream.largestPiece && sizes[100] == BodyStream.largestPiece)
        #expect(sizes[2099] == 16 * 1024)
        #expect(zip(sizes, sizes.dropFirst()).allSatisfy { $0 >= $1 })
        // All together, whatever comes.
        #expect(sizes.reduce(0, +) < 128 << 20)
        for stream in open { streams.remove(stream) }
        #expect(streams.begin().pieceSize == BodyStream.largestPiece)
    }
}
