/// Repeats a failing run with fewer steps, as long as the same kind of problem is found.
struct SimulationShrinking {
    private let simulation: Simulation
    private let first: SimulationOutcome
    private let problem: SimulationOutcome.Problem

    init(_ simulation: Simulation, _ outcome: SimulationOutcome, _ problem: SimulationOutcome.Problem) {
        self.simulation = simulation
        first = outcome
        self.problem = problem
    }

    /// Returns the failure with as few steps as are found in time.
    func failure() async -> SimulationFailure {
        let end = ContinuousClock.now + Simulation.shrinkingTime
        guard let again = try? await simulation.outcome(of: first.steps) else { return make(first, first.notes) }
        if let note = Self.difference(first.trace, again.trace) { return make(first, first.notes + [note]) }
        var best = first
        var size = max(1, best.steps.count / 2)
        while ContinuousClock.now < end {
            var start = best.steps.count - size
            let before = best.steps.count
            while start > -size, ContinuousClock.now < end {
                var steps = best.steps
                steps.removeSubrange(max(0, start)..<min(steps.count, start + size))
                if let outcome = await failing(steps) { best = outcome }
                start = min(start, best.steps.count) - size
            }
            if size == 1, best.steps.count == before { break }
            size = max(1, size / 2)
        }
        return make(best, best.notes)
    }

    /// Returns the outcome of steps that fail in the same way; nil if they do not.
    private func failing(_ steps: [Simulation.Step]) async -> SimulationOutcome? {
        guard let outcome = try? await simulation.outcome(of: steps), outcome.problem?.kind == problem.kind else {
            return nil
        }
        return outcome
    }

    private func make(_ outcome: SimulationOutcome, _ notes: [String]) -> SimulationFailure {
        let problem = outcome.problem ?? problem
        return SimulationFailure(
            kind: problem.kind, problem: problem.text, seed: simulation.seed, steps: outcome.steps,
            trace: outcome.trace, notes: notes)
    }

    /// Returns where a repetition differed; nil if it did not.
    static func difference(_ one: [String], _ other: [String]) -> String? {
        let place = zip(one, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        guard let place = place ?? (one.count == other.count ? nil : min(one.count, other.count)) else { return nil }
        let lines = [one, other].map { place < $0.count ? $0[place].trimmingPrefix(while: \.isWhitespace) : "nothing" }
        return
            "A repetition differed at line \(place + 1) of what happened: first `\(lines[0])`, then `\(lines[1])`. The app has "
            + "tasks that it does not await, uses real time, or makes random decisions of its own."
    }
}
