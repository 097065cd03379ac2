/// The content of a service: the answer of `/status`, which is Nephos' own. Every list is bounded, so that the cost of
/// an overview does not grow with the content.
package struct ServiceOverview: Hashable, Sendable {
    package struct RecordType: Hashable, Sendable {
        package var name: String
        package var records: Int

        package init(name: String, records: Int) {
            self.name = name
            self.records = records
        }
    }

    package struct Container: Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The accounts with a zone, ordered by name.
        package var accounts: [String] = []
        package var zones = 0
        /// Ordered by name.
        package var recordTypes: [RecordType] = []
        /// Whether all records and zones were counted.
        package var isComplete = true

        package init(container: String, environment: String) {
            self.container = container
            self.environment = environment
        }
    }

    package var containers: [Container]
    /// Whether the list has all containers.
    package var isComplete: Bool

    package init(containers: [Container], isComplete: Bool) {
        self.containers = containers
        self.isComplete = isComplete
    }
}

extension ServiceOverview: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(containers: [], isComplete: true)
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "containers":
                containers = try value.elements("an array of containers") { (json) throws(WireError) in
                    try Container(json: json)
                }
            case "isComplete": isComplete = try value.bool()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    /// The members without the braces, for an answer with further members.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("containers")
        writer.beginArray()
        for container in containers { container.write(to: &writer) }
        writer.endArray()
        writer.key("isComplete")
        writer.bool(isComplete)
    }
}

extension ServiceOverview.Container {
    fileprivate init(json: JSONValue) throws(WireError) {
        self.init(
            container: try json.required("container", "a string") { (json) throws(WireError) in try json.string() },
            environment: try json.required("environment", "a string") { (json) throws(WireError) in try json.string() })
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "accounts": accounts = try value.arrayOfStrings()
            case "zones": zones = Int(clamping: try value.int64())
            case "recordTypes":
                recordTypes = try value.elements("an array of record types") { (json) throws(WireError) in
                    ServiceOverview.RecordType(
                        name: try json.required("name", "a string") { (json) throws(WireError) in try json.string() },
                        records: try json.required("records", "a number") { (json) throws(WireError) in
                            Int(clamping: try json.int64())
                        })
                }
            case "isComplete": isComplete = try value.bool()
            default: break
            }
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("container", container)
        writer.member("environment", environment)
        writer.member("accounts", accounts)
        writer.key("zones")
        writer.int64(Int64(zones))
        writer.key("recordTypes")
        writer.beginArray()
        for type in recordTypes {
            writer.beginObject()
            writer.member("name", type.name)
            writer.key("records")
            writer.int64(Int64(type.records))
            writer.endObject()
        }
        writer.endArray()
        writer.key("isComplete")
        writer.bool(isComplete)
        writer.endObject()
    }
}
