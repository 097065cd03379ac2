import NephosService

/// The limits of a test's cloud.
public struct CloudLimits: Hashable, Sendable {
    let bounds: ServiceBounds?

    /// CloudKit's.
    public static let apple = CloudLimits(bounds: nil)

    /// Limits so tight that little data exceeds them: 5 records per request, 2 KB per record, 3 results per page, and
    /// change tokens that are valid for a minute. Code that lacks batches or paging fails.
    public static let tight = CloudLimits(bounds: .tight)
}
