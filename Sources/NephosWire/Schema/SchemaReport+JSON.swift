extension SchemaReport: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a report about a schema") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "findings":
                findings = try value.elements("an array of findings") { (json) throws(WireError) in
                    try Finding(json: json)
                }
            case "changes": changes = try value.arrayOfStrings()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.key("findings")
        writer.beginArray()
        for finding in findings { finding.write(to: &writer) }
        writer.endArray()
        writer.key("changes")
        writer.beginArray()
        for change in changes { writer.string(change) }
        writer.endArray()
    }

    /// The body of a refusal: an error dictionary that includes the findings.
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
    init(json: JSONValue) throws(WireError) {
        self.init(isError: true, message: "")
        for (key, value) in try json.members("a finding") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "severity": isError = try value.string() != "warning"
            case "line": line = Int(try value.int64())
            case "column": column = Int(try value.int64())
            case "message": message = try value.string()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("severity", isError ? "error" : "warning")
        if let line, let column {
            writer.key("line")
            writer.int64(Int64(line))
            writer.key("column")
            writer.int64(Int64(column))
        }
        writer.member("message", message)
        writer.endObject()
    }
}

extension IndexesReport: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        let indexes = try json.required("indexes", "an array of indexes") { (value) throws(WireError) in
            try value.elements("an array of indexes") { (json) throws(WireError) in try IndexStatus(json: json) }
        }
        self.init(indexes: indexes)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("indexes")
        writer.beginArray()
        for index in indexes { index.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension IndexStatus {
    init(json: JSONValue) throws(WireError) {
        self.init(recordType: "", fields: [], state: .building, progress: 0)
        for (key, value) in try json.members("an index") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "recordType": recordType = try value.string()
            case "fields": fields = try value.arrayOfStrings()
            case "state":
                state = try value.oneOf(State.self, names: State.allCases.map(\.rawValue))
            case "progress": progress = try value.double()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordType", recordType)
        writer.key("fields")
        writer.beginArray()
        for field in fields { writer.string(field) }
        writer.endArray()
        writer.member("state", state.rawValue)
        writer.key("progress")
        writer.double(progress)
        writer.endObject()
    }
}
