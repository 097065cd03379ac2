/// The content that a service caches of a store, each with a version in the store, so that changes by other processes
/// are noticed.
package enum SharedContent: Int, CaseIterable, Sendable {
    /// The schema, who has its roles, and the index definitions.
    case catalog
    /// The record types that have subscribers, by owner.
    case subscribedTypes
    /// Which of the opaque strings that clients hold are good: the epoch and the lost change sequences.
    case tokenValidity
}
