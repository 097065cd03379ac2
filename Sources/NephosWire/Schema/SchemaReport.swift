/// What came of a command about a schema. Not part of CloudKit Web Services: how Nephos' own schema routes answer.
package struct SchemaReport: Hashable, Sendable {
    /// Something said about the schema: an error, or a warning.
    package struct Finding: Hashable, Sendable {
        package var isError: Bool
        /// Where it stands in the text, both from 1; nil where it is about nothing in the text.
        package var line: Int?
        package var column: Int?
        package var message: String

        package init(isError: Bool, line: Int? = nil, column: Int? = nil, message: String) {
            self.isError = isError
            self.line = line
            self.column = column
            self.message = message
        }
    }

    /// In the order of the text. With an error among them nothing was changed.
    package var findings: [Finding]
    /// What was changed, or would be by a validated import: a sentence each.
    package var changes: [String]

    package init(findings: [Finding] = [], changes: [String] = []) {
        self.findings = findings
        self.changes = changes
    }

    package var isAllowed: Bool { !findings.contains(where: \.isError) }
}

/// An index and how far it is. Not part of CloudKit Web Services.
package struct IndexStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case building
        case ready
        /// No query uses it any more; its entries are being removed.
        case removing
    }

    package var recordType: String
    /// The fields it is of with what it does for each: `year SORTABLE`. Empty for the list of all records, and for one that
    /// is being removed.
    package var fields: [String]
    package var state: State
    /// From 0 to 1, by the records that were read.
    package var progress: Double

    package init(recordType: String, fields: [String], state: State, progress: Double) {
        self.recordType = recordType
        self.fields = fields
        self.state = state
        self.progress = progress
    }
}

/// The indexes of a container in one environment. Not part of CloudKit Web Services.
package struct IndexesReport: Hashable, Sendable {
    package var indexes: [IndexStatus]
    package init(indexes: [IndexStatus]) { self.indexes = indexes }
}
