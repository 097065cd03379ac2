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
        package var accounts: [String]
        package var zones: Int
        /// Ordered by name.
        package var recordTypes: [RecordType]
        /// Whether all records and zones were counted.
        package var isComplete: Bool

        package init(
            container: String, environment: String, accounts: [String] = [], zones: Int = 0,
            recordTypes: [RecordType] = [], isComplete: Bool = true
        ) {
            self.container = container
            self.environment = environment
            self.accounts = accounts
            self.zones = zones
            self.recordTypes = recordTypes
            self.isComplete = isComplete
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

extension ServiceOverview: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("containers", \.containers, .array("an array of containers", of: Container.codec), ifAbsent: []),
        .member("isComplete", \.isComplete, .bool, ifAbsent: true))
}

extension ServiceOverview.Container {
    fileprivate static let codec = Codec<Self>(
        Self.init,
        .required("container", \.container, .string),
        .required("environment", \.environment, .string),
        .member("accounts", \.accounts, .strings, ifAbsent: []),
        .member("zones", \.zones, .int, ifAbsent: 0),
        .member(
            "recordTypes", \.recordTypes, .array("an array of record types", of: ServiceOverview.RecordType.codec),
            ifAbsent: []),
        .member("isComplete", \.isComplete, .bool, ifAbsent: true))
}

extension ServiceOverview.RecordType {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("name", \.name, .string), .required("records", \.records, .int, "a number"))
}
