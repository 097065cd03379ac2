import Testing

@testable import NephosServer

/// Concurrent bodies, and their memory.
@Suite struct BodyStreamsTests {
    @Test func `with more concurrent bodies each later piece is smaller`() {
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
