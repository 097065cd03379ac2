/// What the user of a device sees.
struct ShownItems: Equatable, Sendable {
    /// The values of the items by their names.
    var contents: [String: String] = [:]
    /// The items that the device shows of each share in which its account takes part.
    var shares: [String: Set<String>] = [:]
}
