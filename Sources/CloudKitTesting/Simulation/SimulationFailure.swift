public import Foundation

/// What a simulation found wrong with an app.
public struct SimulationFailure: Error, Sendable, LocalizedError, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: String, Hashable, Sendable {
        /// Devices of an account show different things, although everything was sent and fetched.
        case divergence
        /// An edit had no effect that no later edit replaced.
        case lostEdit
        /// An item is there although it was deleted.
        case returnedDeletion
        /// An item is there although the account's user had removed the app's data.
        case purgedItem
        /// A device shows another account's item.
        case otherAccount
        /// An item has a value that no edit made.
        case unknownValue
        /// The app threw an error where it checked its invariants, or where it was to show its items.
        case invariant
        /// The app could not be launched.
        case launch
        /// The app waits for something that is neither the service nor the clock.
        case stuck
    }

    /// What is wrong.
    public let kind: Kind
    /// What is wrong, in words.
    public let problem: String
    /// The seed of the simulation.
    public let seed: UInt64
    /// The steps that lead there: as few as were found.
    public let steps: [Simulation.Step]
    /// What happened in these steps, a line each.
    public let trace: [String]
    /// What else is to be known: a repetition that differed, a step that took real time.
    public let notes: [String]

    public var description: String {
        let code = steps.map { "    \($0)," }.joined(separator: "\n")
        return """
            \(problem)
            \(notes.map { "\($0)\n" }.joined())The seed is \(seed). These \(steps.count) steps repeat it:
            try await simulation.replay([
            \(code)
            ])
            What happened:
            \(trace.map { "    \($0)" }.joined(separator: "\n"))
            """
    }
    public var errorDescription: String? { description }
}
