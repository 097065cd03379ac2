/// How many records a piece of background work has: as many as hold up other writers for about as long as they may.
struct PieceSize {
    private(set) var records = Limits.recordsPerBackgroundStep

    /// The same of something else, of which a first piece has so many.
    func count(of first: Int) -> Int { max(1, first * records / Limits.recordsPerBackgroundStep) }

    /// A piece of this size took so long.
    mutating func took(_ duration: Duration) {
        if duration > Limits.backgroundStepTime {
            records = max(Limits.recordsPerBackgroundStep / 16, records / 2)
        } else if duration < Limits.backgroundStepTime / 4 {
            records = min(Limits.recordsPerBackgroundStep * 8, records * 2)
        }
    }
}
