extension SchemaReport: CodedMessage {
    package static let codec = Codec<Self>(
        as: "a report about a schema", Self.init,
        .member("findings", \.findings, .array("an array of findings", of: Finding.codec), ifAbsent: []),
        .member("changes", \.changes, .strings, ifAbsent: []))

    /// Encodes the report as the body of a refusal: an error dictionary that includes the findings.
    package func refusal(requestID: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("uuid", requestID)
        writer.member("serverErrorCode", ServerErrorCode.badRequest.rawValue)
        writer.member("reason", findings.filter(\.isError).map(\.message).joined(separator: "\n"))
        writeMembers(to: &writer)
        writer.endObject()
        return writer.finish()
    }
}

extension SchemaReport.Finding {
    fileprivate static let codec = Codec<Self>(
        as: "a finding", Self.init,
        .member("severity", \.isError, severity, ifAbsent: true),
        .optional("line", \.line, .int),
        .optional("column", \.column, .int),
        .member("message", \.message, .string, ifAbsent: ""))

    private static let severity = Codec<Bool>("a string") { (json) throws(WireError) in
        try json.string() != "warning"
    } write: {
        $1.string($0 ? "error" : "warning")
    }
}

extension IndexesReport: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("indexes", \.indexes, .array("an array of indexes", of: IndexStatus.codec), "an array of indexes"))
}

extension IndexStatus {
    fileprivate static let codec = Codec<Self>(
        as: "an index", Self.init,
        .member("recordType", \.recordType, .string, ifAbsent: ""),
        .member("fields", \.fields, .strings, ifAbsent: []),
        .member("state", \.state, .name, ifAbsent: .building),
        .member("progress", \.progress, .double, ifAbsent: 0))
}
