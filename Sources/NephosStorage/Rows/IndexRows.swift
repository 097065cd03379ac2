/// An index over the records of one type. The service defines its content; here it has a name.
package struct IndexDefinitionRow: Hashable, Sendable {
    package var id: Int64
    package var recordType: String
    /// The indexed fields, in the service's own terms; unique within the record type.
    package var components: String
    /// Whether every record has its entries. Before that the index is being built.
    package var isReady: Bool
    /// Whether the build skipped damaged records: `leftOut` lists them.
    package var leavesOut = false
    /// The change sequence of the definition: later writes add their entries themselves.
    package var definedAt: Int64
    /// The build's position: the current zone, and the sequence of the last indexed record there.
    package var builtZone: Int64
    package var builtSequence: Int64

    package init(
        id: Int64, recordType: String, components: String, isReady: Bool = false, definedAt: Int64,
        builtZone: Int64 = 0, builtSequence: Int64 = 0
    ) {
        self.id = id
        self.recordType = recordType
        self.components = components
        self.isReady = isReady
        self.definedAt = definedAt
        self.builtZone = builtZone
        self.builtSequence = builtSequence
    }

    /// The id of the list of skipped records, which is stored like an index.
    package var leftOut: Int64 { Self.leftOut(of: id) }

    /// The id of that list for the index of that id.
    package static func leftOut(of id: Int64) -> Int64 { -id }
}

/// An index entry of a record: its zone, its index, and a value that sorts by its bytes.
package struct IndexEntryRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var definition: Int64
    package var value: [UInt8]
    /// The name of the record.
    package var name: String
    /// The record's number; ignored in lookups.
    package var record: Int64

    package init(zone: ZoneKey, definition: Int64, value: [UInt8], name: String, record: Int64 = 0) {
        self.zone = zone
        self.definition = definition
        self.value = value
        self.name = name
        self.record = record
    }
}

/// Entries of one index in one zone whose values are at least `from` and less than `to`, byte by byte; a prefix of a
/// value is less than the value.
package struct IndexRange: Hashable, Sendable {
    package var zone: ZoneKey
    package var definition: Int64
    package var from: [UInt8]
    package var to: [UInt8]

    package init(zone: ZoneKey, definition: Int64, from: [UInt8], to: [UInt8]) {
        self.zone = zone
        self.definition = definition
        self.from = from
        self.to = to
    }
}

/// A position in an index: after the entry of the record `name` under `value`.
package struct IndexPosition: Hashable, Sendable {
    package var value: [UInt8]
    package var name: String
    /// The number of the record, in entries that were read.
    package var record: RowNumber

    package init(value: [UInt8], name: String, record: RowNumber = RowNumber()) {
        self.value = value
        self.name = name
        self.record = record
    }
}
