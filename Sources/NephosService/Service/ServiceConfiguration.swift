/// How a service was asked to behave.
package struct ServiceConfiguration: Sendable {
    /// Refuses what only Apple's Web Services refuse: more than 200 operations a request, more than 750 records that
    /// one deletion takes along.
    package var isStrict: Bool

    /// How much a query may do; a test gives less.
    var queries = QueryBounds()

    package init(isStrict: Bool = false) {
        self.isStrict = isStrict
    }
}
