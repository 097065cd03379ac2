/// The outcome of a schema command. Not part of CloudKit Web Services: the answer of Nephos' own schema routes.
package struct SchemaReport: Hashable, Sendable {
    /// An error or a warning about the schema.
    package struct Finding: Hashable, Sendable {
        package var isError: Bool
        /// The finding's line in the schema's text, from 1, like `column`. Both are nil if the finding does not concern
        /// the text.
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

    /// The findings in the text's order. If one of them is an error, nothing was changed.
    package var findings: [Finding]
    /// The changes that were made, or that a validated import would make. Each is one sentence.
    package var changes: [String]

    package init(findings: [Finding] = [], changes: [String] = []) {
        self.findings = findings
        self.changes = changes
    }

    package var isAllowed: Bool { !findings.contains(where: \.isError) }
}

/// An index and its build progress. Not part of CloudKit Web Services.
package struct IndexStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case building
        case ready
        /// The index is unused, and a background job removes its entries.
        case removing
    }

    package var recordType: String
    /// The indexed fields and their kinds of index, such as `year SORTABLE`. Empty for the list of all records of a
    /// type, and for an index that is being removed.
    package var fields: [String]
    package var state: State
    /// The progress of the build from 0 to 1: the fraction of the records that were read.
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
