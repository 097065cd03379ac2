/// The number of records per background step, adapted so that a step blocks other writers for about
/// `Limits.backgroundStepTime`.
struct PieceSize {
    private(set) var records = Limits.recordsPerBackgroundStep

    /// The adapted step size for another kind of item, whose initial step size is `first`.
    func count(of first: Int) -> Int { max(1, first * records / Limits.recordsPerBackgroundStep) }

    /// Adapts the step size to the duration of a step.
    mutating func took(_ duration: Duration) {
        if duration > Limits.backgroundStepTime {
            records = max(1, records / 2)
        } else if duration < Limits.backgroundStepTime / 4 {
            records = min(Limits.recordsPerBackgroundStep * 8, records * 2)
        }
    }
}
