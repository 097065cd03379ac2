/// The first line of an export by `nephos export`. It names the source of the lines below it, which by default is also
/// the target of `nephos import`. Each further line is a body of `zones/modify` or of `records/modify`.
package struct ExportHeader: Hashable, Sendable {
    package static let version: Int64 = 1

    package var container: String
    package var environment: String
    package var database: String
    /// The account of the local CloudKit that owns the private database; nil for another source.
    package var account: String?

    package init(container: String, environment: String, database: String, account: String?) {
        self.container = container
        self.environment = environment
        self.database = database
        self.account = account
    }
}

extension ExportHeader: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        let expected = "the version of an export, \(Self.version)"
        try json.required("nephosExport", expected) { (json) throws(WireError) in
            guard try json.int64(expected) == Self.version else { throw json.mismatch(expected) }
        }
        self.init(
            container: try json.requiredString("container"), environment: try json.requiredString("environment"),
            database: try json.requiredString("database"), account: try json.member("account")?.string())
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("nephosExport")
        writer.int64(Self.version)
        writer.member("container", container)
        writer.member("environment", environment)
        writer.member("database", database)
        writer.member("account", account)
        writer.endObject()
    }
}
