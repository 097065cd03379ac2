/// How a service was asked to behave.
package struct ServiceConfiguration: Sendable {
    /// Refuses what only Apple's Web Services refuse: more than 200 operations a request, more than 750 records that
    /// one deletion takes along.
    package var isStrict: Bool

    /// Milliseconds that feeds remember deletions; tokens that are older than what was forgotten have expired. Nil is
    /// for ever.
    package var deletionRetention: Int64?

    /// How much a query may do; a test gives less.
    var queries = QueryBounds()

    package init(isStrict: Bool = false, deletionRetention: Int64? = Limits.deletionRetention) {
        self.isStrict = isStrict
        self.deletionRetention = deletionRetention
    }
}
