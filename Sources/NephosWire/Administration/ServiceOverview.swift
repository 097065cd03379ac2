/// The content of a service: the answer of `/status`, one of Nephos' own routes. The length of every list is limited,
/// so that the cost of an overview does not grow with the content.
package struct ServiceOverview: Hashable, Sendable {
    package struct RecordType: Hashable, Sendable {
        package var name: String
        package var records: Int
        /// Where the record is that was changed last of those counted: the database, the account of a private one, and
        /// the zone. Nil if none was counted: a type of the schema is there without one, too.
        package var database: String?
        package var account: String?
        package var zone: String?

        package init(
            name: String, records: Int, database: String? = nil, account: String? = nil, zone: String? = nil
        ) {
            self.name = name
            self.records = records
            self.database = database
            self.account = account
            self.zone = zone
        }
    }

    package struct Container: Hashable, Sendable {
        package var container: String
        package var environment: String
        /// The names of accounts with a zone, in ascending order.
        package var accounts: [String]
        package var zones: Int
        /// The record types and their numbers of records, ordered by name.
        package var recordTypes: [RecordType]
        /// Whether all of the container's records and zones were counted. If not, the numbers can be too low: those of the
        /// records that were changed last.
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
    /// Whether `containers` has all containers of the service.
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
        Self.init, .required("name", \.name, .string), .required("records", \.records, .int, "a number"),
        .optional("database", \.database, .string), .optional("account", \.account, .string),
        .optional("zone", \.zone, .string))
}
