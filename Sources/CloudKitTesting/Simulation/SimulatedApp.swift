public import CloudKit
import NephosService

/// An app as a simulation runs it on a device, from a launch to its end: an actor, or a class that protects its state.
///
/// Everything that has to survive the app's end is in the device's `diskDirectory`. A simulation ends apps without a
/// warning, and launches them again with what is there.
public protocol SimulatedApp: AnyObject, Sendable {
    /// Does one thing that a user can do, chosen by `random`, and returns once it is on the device's disk.
    ///
    /// The simulation compares values to learn which edit replaced which: use `random.text()`, which never repeats, in
    /// each value.
    /// - Returns: the changed items by their names: the new value, or nil for a deletion. Empty if there was nothing
    ///   to do.
    /// - Throws: what the app reports to its user. Such an edit may have an effect or not: until the next check the account's
    ///   items may be missing.
    func edit(using random: inout SimulationRandom) async throws -> [String: String?]

    /// Sends what is pending and fetches what is new, as the app does at its launch or when its user pulls to refresh.
    /// - Throws: what the app reports to its user; a simulation goes on.
    func sync() async throws

    /// What the user sees: the items by their names.
    var contents: [String: String] { get async throws }

    /// The shares in which the user's account takes part, as their owner or as a participant: by names that are the same on every
    /// participant's device, with the items that the device shows of each. All participants have to see the same items, whose
    /// names no account uses for others. None by default.
    var shares: [String: Set<String>] { get async throws }

    /// Handles a notification that the service sent to the device, for a subscription of the app's. In a simulation they arrive
    /// late, some twice, and some get lost. Does nothing by default.
    func didReceive(_ notification: CKNotification) async

    /// Checks what is always true of the app's data.
    /// - Throws: any error, which fails the simulation. Nothing by default.
    func checkInvariants() async throws

    /// Whether an outcome is right for this app that the simulation would report, such as a merge of several values, or an item
    /// that was deleted together with its list. False by default.
    /// - Parameters:
    ///   - value: the item's value in the end; nil if it is not there.
    ///   - edits: the values of the edits that no later one replaced; nil for a deletion.
    func permits(_ value: String?, for item: String, edits: [String?]) async -> Bool
}

extension SimulatedApp {
    /// No shares.
    public var shares: [String: Set<String>] { [:] }
    /// Does nothing.
    public func didReceive(_ notification: CKNotification) async {}
    /// Checks nothing.
    public func checkInvariants() async throws {}
    /// Permits nothing.
    public func permits(_ value: String?, for item: String, edits: [String?]) async -> Bool { false }
}

/// The random decisions of one edit. The same step of a simulation makes the same ones.
public struct SimulationRandom: RandomNumberGenerator, Sendable {
    private var generator: SplitMix
    private let label: String
    private var texts = 0

    init(seed: UInt64, label: String) {
        generator = SplitMix(state: seed)
        self.label = label
    }

    /// Returns the next number.
    public mutating func next() -> UInt64 { generator.next() }

    /// Returns a text that no other edit of the simulation gets, such as `phone 12`.
    public mutating func text() -> String {
        texts += 1
        return texts == 1 ? label : "\(label).\(texts)"
    }
}

extension SplitMix {
    /// Returns an upper-case UUID of version 4.
    mutating func makeUUID() -> String {
        let (high, low) = (next() & ~0xF000 | 0x4000, next() & ~(0xC << 60) | 0x8 << 60)
        let digits = [high, low].map { word in
            let text = String(word, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var groups: [Substring] = []
        var rest = digits[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return groups.joined(separator: "-")
    }
}
