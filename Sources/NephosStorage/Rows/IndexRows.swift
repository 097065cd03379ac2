/// An index over the records of one type. The service defines the content of the index; the storage layer knows only
/// its name.
package struct IndexDefinitionRow: Hashable, Sendable {
    package var id: Int64
    package var recordType: String
    /// The indexed fields in the service's own notation, unique within the record type.
    package var components: String
    /// Whether every record has its index entries; false while the index is being built.
    package var isReady: Bool
    /// Whether the build of the index skipped damaged records. The list `leftOut` contains their names.
    package var leavesOut = false
    /// The change sequence at which the index was defined. Every later write of a record adds the record's entries
    /// itself.
    package var definedAt: Int64
    /// The position of the build: the zone that is being indexed. The next property is the sequence of the last indexed
    /// record in that zone.
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

    /// The id of the list of skipped records. The list is stored like an index.
    package var leftOut: Int64 { Self.leftOut(of: id) }

    /// The id of the list of records that the build of an index skipped.
    package static func leftOut(of id: Int64) -> Int64 { -id }
}

/// A record's entry in an index of one zone, under a value that sorts by its bytes.
package struct IndexEntryRow: Hashable, Sendable {
    package var zone: ZoneKey
    package var definition: Int64
    package var value: [UInt8]
    /// The name of the record.
    package var name: String
    /// The number of the record. Lookups ignore it.
    package var record: Int64

    package init(zone: ZoneKey, definition: Int64, value: [UInt8], name: String, record: Int64 = 0) {
        self.zone = zone
        self.definition = definition
        self.value = value
        self.name = name
        self.record = record
    }
}

/// The entries of one index in one zone with values from `from` up to but not including `to`, compared byte by byte. A
/// prefix of a value is less than the value.
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

/// A position in an index: after the entry of the record `name` under the value `value`.
package struct IndexPosition: Hashable, Sendable {
    package var value: [UInt8]
    package var name: String
    /// The number of the record; set only in entries that were read.
    package var record: RowNumber

    package init(value: [UInt8], name: String, record: RowNumber = RowNumber()) {
        self.value = value
        self.name = name
        self.record = record
    }
}
