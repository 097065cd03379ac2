/// What the user of a device sees.
struct ShownItems: Equatable, Sendable {
    /// The values of the items by their names.
    var contents: [String: String] = [:]
    /// The names of the items that the device shows, by the name of the share in which its account takes part.
    var shares: [String: Set<String>] = [:]
}
