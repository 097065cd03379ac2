/// The request of `records/find`, one of Nephos' own routes: the records with a name or a value, in whichever zones they
/// are.
package struct FindRecordsRequest: Hashable, Sendable {
    package var recordName: String?
    /// In place of it, a part of a text in a field, in any case, or all of a number.
    package var value: String?
    /// `public` for the zones of the public database alone; nil for those of all accounts, too.
    package var database: String?
    /// The `continuationMarker` of the previous page; nil for the first page.
    package var continuationMarker: String?

    package init(
        recordName: String? = nil, value: String? = nil, database: String? = nil, continuationMarker: String? = nil
    ) {
        self.recordName = recordName
        self.value = value
        self.database = database
        self.continuationMarker = continuationMarker
    }
}

/// The answer of `records/find`: the records in the zones of a page.
package struct FindRecordsResponse: Hashable, Sendable {
    package struct Found: Hashable, Sendable {
        /// The account whose private database has the record; nil for the public database.
        package var account: String?
        package var zoneName: String
        package var recordType: String
        /// Of a search for a value: the name of the record, the field, and its text.
        package var recordName: String?
        package var field: String?
        package var text: String?

        package init(
            account: String?, zoneName: String, recordType: String, recordName: String? = nil, field: String? = nil,
            text: String? = nil
        ) {
            self.account = account
            self.zoneName = zoneName
            self.recordType = recordType
            self.recordName = recordName
            self.field = field
            self.text = text
        }
    }

    package var records: [Found]
    /// The marker for the request of the next page; nil on the last page.
    package var continuationMarker: String?

    package init(records: [Found] = [], continuationMarker: String? = nil) {
        self.records = records
        self.continuationMarker = continuationMarker
    }
}

extension FindRecordsRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .optional("recordName", \.recordName, .string), .optional("value", \.value, .string),
        .optional("database", \.database, .string),
        .optional("continuationMarker", \.continuationMarker, .string))
}

extension FindRecordsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .member("records", \.records, .array("an array of records", of: Found.codec), ifAbsent: []),
        .optional("continuationMarker", \.continuationMarker, .string))
}

extension FindRecordsResponse.Found {
    fileprivate static let codec = Codec<Self>(
        Self.init, .optional("account", \.account, .string), .required("zoneName", \.zoneName, .string),
        .required("recordType", \.recordType, .string), .optional("recordName", \.recordName, .string),
        .optional("field", \.field, .string), .optional("text", \.text, .string))
}
