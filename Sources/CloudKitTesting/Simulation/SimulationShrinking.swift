/// Repeats a failing run with fewer steps, as long as the same kind of problem is found.
struct SimulationShrinking {
    private let simulation: Simulation
    private let first: SimulationOutcome
    private let problem: SimulationOutcome.Problem
    private let patience: Duration

    init(
        _ simulation: Simulation, _ outcome: SimulationOutcome, _ problem: SimulationOutcome.Problem,
        patience: Duration
    ) {
        self.patience = patience
        self.simulation = simulation
        first = outcome
        self.problem = problem
    }

    /// Returns the failure with as few steps as are found in time.
    func failure() async -> SimulationFailure {
        let end = ContinuousClock.now + patience
        // Each repetition waits as long for an app that is stuck.
        if problem.kind == .stuck, patience < simulation.realTimeLimit { return make(first, first.notes) }
        guard let again = try? await simulation.outcome(ofRandom: first.count, keeping: nil), !Task.isCancelled else {
            return make(first, first.notes)
        }
        // A repetition that differs may fail all the same, and so may fewer steps.
        let note = Self.difference(first.trace, again.trace)
        if note != nil, again.problem?.kind != problem.kind {
            return make(first, first.notes + [note].compactMap(\.self))
        }
        var best = await withoutKinds(again, until: end)
        best = await withoutRanges(best, until: end)
        best = await finishing(best, until: end)
        best = await withoutRanges(best, until: end)
        best = await withoutPairs(best, until: end)
        return make(best, best.notes + [note].compactMap(\.self))
    }

    /// Leaves out ranges of steps, shorter and shorter ones, from the end.
    private func withoutRanges(
        _ outcome: SimulationOutcome, until end: ContinuousClock.Instant
    ) async -> SimulationOutcome {
        var best = outcome
        var size = max(1, best.steps.count / 2)
        while isInTime(end) {
            var start = best.steps.count - size
            let before = best.steps.count
            while start > -size, isInTime(end) {
                var steps = best.steps
                steps.removeSubrange(max(0, start)..<min(steps.count, start + size))
                if let outcome = await failing(steps) { best = outcome }
                start = min(start, best.steps.count) - size
            }
            if size == 1, best.steps.count == before { break }
            size = max(1, size / 2)
        }
        return best
    }

    /// Has devices finish where a request passes, so that the passes after it can be left out.
    private func finishing(
        _ outcome: SimulationOutcome, until end: ContinuousClock.Instant
    ) async -> SimulationOutcome {
        var best = outcome
        for index in best.steps.indices where isInTime(end) {
            guard case .pass(let device) = best.steps[index] else { continue }
            var steps = best.steps
            steps[index] = .finish(device)
            if let outcome = await failing(steps) { best = outcome }
        }
        return best
    }

    /// Leaves out two steps at a time, such as a loss of the network and its return.
    private func withoutPairs(
        _ outcome: SimulationOutcome, until end: ContinuousClock.Instant
    ) async -> SimulationOutcome {
        var best = outcome
        // A list of all pairs would grow with the square of the steps.
        var (first, second) = (best.steps.count - 2, best.steps.count - 1)
        while first >= 0, isInTime(end) {
            var steps = best.steps
            steps.remove(at: second)
            steps.remove(at: first)
            if let outcome = await failing(steps) {
                best = outcome
                (first, second) = (best.steps.count - 2, best.steps.count - 1)
            } else if second - 1 > first {
                second -= 1
            } else {
                (first, second) = (first - 1, best.steps.count - 1)
            }
        }
        return best
    }

    private func isInTime(_ end: ContinuousClock.Instant) -> Bool { ContinuousClock.now < end && !Task.isCancelled }

    /// Leaves out all steps of a kind, one kind after the other: most have nothing to do with the problem.
    private func withoutKinds(
        _ outcome: SimulationOutcome, until end: ContinuousClock.Instant
    ) async -> SimulationOutcome {
        var best = outcome
        let kinds = Dictionary(grouping: best.steps, by: \.kind).sorted {
            ($0.value.count, $0.key) > ($1.value.count, $1.key)
        }
        for (kind, _) in kinds where isInTime(end) {
            if let outcome = await failing(best.steps.filter { $0.kind != kind }) { best = outcome }
        }
        return best
    }

    /// Returns the outcome of steps that fail in the same way; nil if they do not.
    private func failing(_ steps: [Simulation.Step]) async -> SimulationOutcome? {
        guard !Task.isCancelled, let outcome = try? await simulation.outcome(of: steps),
            let kind = outcome.problem?.kind
        else {
            return nil
        }
        // Which of the two a lost edit is depends on whether its own device shows it.
        let alike: Set<SimulationFailure.Kind> = [.lostEdit, .divergence]
        return kind == problem.kind || alike.isSuperset(of: [kind, problem.kind]) ? outcome : nil
    }

    private func make(_ outcome: SimulationOutcome, _ notes: [String]) -> SimulationFailure {
        let problem = outcome.problem ?? problem
        return SimulationFailure(
            kind: problem.kind, problem: problem.text, seed: simulation.seed, steps: outcome.steps,
            trace: outcome.trace.lines, notes: notes)
    }

    /// Returns where a repetition differed; nil if it did not.
    static func difference(_ one: SimulationTrace, _ other: SimulationTrace) -> String? {
        guard let (number, pair) = one.difference(from: other) else { return nil }
        let lines = pair.map { $0?.trimmingPrefix(while: \.isWhitespace) ?? "nothing" }
        return
            "A repetition differed at line \(number) of what happened: first `\(lines[0])`, then `\(lines[1])`. The app has "
            + "tasks that it does not await, uses real time, makes random decisions of its own, or iterates over a set or dictionary."
    }
}
