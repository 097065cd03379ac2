import Testing

@testable import NephosService

struct PieceSizeTests {
    @Test func `pieces shrink while they are slow and grow while they are quick, within bounds`() {
        var pieces = PieceSize()
        let first = pieces.records
        pieces.took(Limits.backgroundStepTime * 2)
        #expect(pieces.records == first / 2)
        pieces.took(Limits.backgroundStepTime / 2)
        #expect(pieces.records == first / 2)
        pieces.took(.zero)
        #expect(pieces.records == first)
        for _ in 0..<100 { pieces.took(.seconds(1)) }
        #expect(pieces.records == 1)
        for _ in 0..<100 { pieces.took(.zero) }
        #expect(pieces.records == first * 8)
    }
}
