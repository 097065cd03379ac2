/// The request of `deletions/forget`, one of Nephos' own routes: purges tombstones older than a given age.
package struct ForgetDeletionsRequest: Hashable, Sendable {
    /// The age in milliseconds.
    package var olderThan: Int64

    package init(olderThan: Int64) { self.olderThan = olderThan }
}

/// The number of purged tombstones.
package struct ForgetDeletionsResponse: Hashable, Sendable {
    package var records: Int
    package var zones: Int

    package init(records: Int, zones: Int) {
        self.records = records
        self.zones = zones
    }
}

extension ForgetDeletionsRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .required("olderThan", \.olderThan, milliseconds))

    private static let milliseconds = Codec<Int64>("a number of milliseconds") { (json) throws(WireError) in
        let milliseconds = try json.int64("a number of milliseconds")
        guard milliseconds >= 0 else { throw json.mismatch("a number of milliseconds, 0 or more") }
        return milliseconds
    } write: {
        $1.int64($0)
    }
}

extension ForgetDeletionsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .member("records", \.records, .int, ifAbsent: 0), .member("zones", \.zones, .int, ifAbsent: 0))
}
