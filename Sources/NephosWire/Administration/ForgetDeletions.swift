/// `deletions/forget` of Nephos' own routes: purges tombstones older than a given time.
package struct ForgetDeletionsRequest: Hashable, Sendable {
    /// Milliseconds.
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

extension ForgetDeletionsRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        let expected = "a number of milliseconds"
        olderThan = try json.required("olderThan", expected) { (json) throws(WireError) in
            let milliseconds = try json.int64(expected)
            guard milliseconds >= 0 else { throw json.mismatch(expected + ", 0 or more") }
            return milliseconds
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("olderThan")
        writer.int64(olderThan)
        writer.endObject()
    }
}

extension ForgetDeletionsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(records: 0, zones: 0)
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "records": records = Int(try value.int64())
            case "zones": zones = Int(try value.int64())
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("records")
        writer.int64(Int64(records))
        writer.key("zones")
        writer.int64(Int64(zones))
        writer.endObject()
    }
}
