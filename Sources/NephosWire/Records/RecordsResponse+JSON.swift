extension RecordResult {
    /// Decodes the array `records` of an answer.
    static func results(json: JSONValue) throws(WireError) -> [RecordResult] {
        var strings = RepeatedStrings()
        return try json.elements("an array of records") { (record) throws(WireError) in
            try RecordResult(json: record, &strings)
        }
    }

    private init(json: JSONValue, _ strings: inout RepeatedStrings) throws(WireError) {
        if ErrorDictionary.describes(json) {
            self = .failure(try ErrorDictionary(json: json))
        } else if Self.isDeleted(json) {
            self = .deleted(try DeletedRecord(json: json))
        } else {
            self = .record(try RecordDictionary(json: json, &strings))
        }
    }

    private static func isDeleted(_ json: JSONValue) -> Bool {
        guard json.isObject else { return false }
        return JSONMembers(of: json).contains { key, value in "deleted" ~= key && value.tag == JSONValue.Tag.true }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .record(let record): record.write(to: &writer)
        case .deleted(let record): record.write(to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }

    /// The approximate encoded size of the result in bytes.
    var estimatedSize: Int {
        if case .record(let record) = self { return record.fields.bytes.count + 512 }
        return 512
    }
}

extension RecordsResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            records: try json.required("records", "an array", RecordResult.results(json:)))
    }

    package var estimatedSize: Int { 64 + records.estimatedSize(encodedRecords) }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.records(records, encodedRecords)
        writer.member("syncToken", syncToken)
        writer.endObject()
    }
}

extension [RecordResult] {
    /// - Parameter encoded: the JSON array that replaces the results; nil if there is none.
    func estimatedSize(_ encoded: JSONBytes?) -> Int {
        guard let encoded else { return reduce(16) { $0 + $1.estimatedSize } }
        let isCopied = encoded.buffer.count <= JSONWriter.copied && !JSONWriter.canContinue(encoded)
        return isCopied ? 16 + encoded.buffer.count : 16
    }
}

extension JSONWriter {
    /// Writes the member `records`.
    /// - Parameter encoded: the JSON array that replaces `records`; nil to encode `records`.
    mutating func records(_ records: [RecordResult], _ encoded: JSONBytes?) {
        key("records")
        if let encoded { return verbatim(encoded) }
        beginArray()
        for record in records { record.write(to: &self) }
        endArray()
    }
}
