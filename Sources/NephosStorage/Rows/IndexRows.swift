/// An index over the records of one type. What it holds of a record is the service's business; here it has a name.
package struct IndexDefinitionRow: Hashable, Sendable {
    package var id: Int64
    package var recordType: String
    /// What the index is of, in the service's own terms; unique within the record type.
    package var components: String
    /// Whether every record has its entries. Until then it is being built.
    package var isReady: Bool
    /// Whether the building left out records that were damaged: they have their entries in `leftOut`.
    package var leavesOut = false
    /// The change sequence of the definition: records that were written later have their entries from the start.
    package var definedAt: Int64
    /// How far the building is: the zone it is at, and the sequence of the last record there that has its entries.
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

    /// The number of the list of records that the building left out, which is kept as an index is.
    package var leftOut: Int64 { Self.leftOut(of: id) }

    /// The same for the index of that id.
    package static func leftOut(of id: Int64) -> Int64 { -id }
}

/// One way to find a record: in a zone, in an index, under a value whose bytes order it.
package struct IndexEntryRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var definition: Int64
    package var value: [UInt8]
    /// The name of the record.
    package var name: String
    /// The record's number; where an entry is only looked for it does not count.
    package var record: Int64

    package init(zone: ZoneKey, definition: Int64, value: [UInt8], name: String, record: Int64 = 0) {
        self.zone = zone
        self.definition = definition
        self.value = value
        self.name = name
        self.record = record
    }
}

/// Entries of one index in one zone whose values are at least `from` and less than `to`, byte by byte; where one value
/// begins with the other the shorter is less.
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

/// A place between the entries of an index: behind that of the record `name` under `value`.
package struct IndexPosition: Hashable, Sendable {
    package var value: [UInt8]
    package var name: String
    /// The number of the record, in what was read.
    package var record: RowNumber

    package init(value: [UInt8], name: String, record: RowNumber = RowNumber()) {
        self.value = value
        self.name = name
        self.record = record
    }
}
