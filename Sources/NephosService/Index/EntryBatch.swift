import NephosStorage

/// The index entries of one zone, which can be sorted into index order. One byte array holds all entries, to save
/// memory.
struct EntryBatch: Sendable {
    private struct Entry {
        var definition: Int64
        var record: Int64
        /// The offset of the entry's value. The name follows the value and extends to the next entry's value.
        var start: Int
        var valueCount: Int32
        var nameCount: Int32
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// The size of the batch in memory, in bytes.
    var size: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

    mutating func add(_ definition: Int64, _ value: [UInt8], _ record: RecordRow) {
        let start = bytes.count
        bytes.append(contentsOf: value)
        bytes.append(contentsOf: record.name.utf8)
        entries.append(
            Entry(
                definition: definition, record: record.number.value, start: start, valueCount: Int32(value.count),
                nameCount: Int32(bytes.count - start - value.count)))
    }

    mutating func add(_ other: EntryBatch) {
        let offset = bytes.count
        bytes.append(contentsOf: other.bytes)
        for var entry in other.entries {
            entry.start += offset
            entries.append(entry)
        }
    }

    /// Sorts the entries into storage order: by index, value and name. No value is a prefix of another value, so value
    /// and name compare as one key.
    mutating func sort() {
        bytes.withUnsafeBufferPointer { bytes in
            func key(_ entry: Entry) -> Slice<UnsafeBufferPointer<UInt8>> {
                bytes[entry.start..<entry.start + Int(entry.valueCount + entry.nameCount)]
            }
            entries.sort { left, right in
                left.definition != right.definition
                    ? left.definition < right.definition : key(left).lexicographicallyPrecedes(key(right))
            }
        }
    }

    subscript(index: Int, zone: ZoneKey) -> IndexEntryRow {
        let entry = entries[index]
        let name = entry.start + Int(entry.valueCount)
        return IndexEntryRow(
            zone: zone, definition: entry.definition, value: Array(bytes[entry.start..<name]),
            name: String(decoding: bytes[name..<name + Int(entry.nameCount)], as: UTF8.self), record: entry.record)
    }
}
