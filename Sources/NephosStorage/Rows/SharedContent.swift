/// The kinds of content that a service caches of a store. Each kind has a version in the store, by which a process
/// notices changes by other processes.
package enum SharedContent: Int, CaseIterable, Sendable {
    /// The schema, the accounts that have its roles, and the index definitions.
    case catalog
    /// The record types with subscribers, by owner.
    case subscribedTypes
    /// The values that decide which opaque strings of clients are valid: the token epoch and the lost change sequences.
    case tokenValidity
}
