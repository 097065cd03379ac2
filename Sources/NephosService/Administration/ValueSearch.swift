import NephosStorage
import NephosWire

/// A search of a store's records for a part of a text or a number in a field, of each zone the last changed first. It
/// reads no index, as most fields have none, and no encrypted field.
struct ValueSearch {
    /// The value in the form in which queries compare strings, and the number that it is; nil for none.
    private let value: [UInt8]
    private let number: Double?
    private let isPublic: Bool
    private let strings: TokenCodec
    private let reader: StorageReader
    private var found: [FindRecordsResponse.Found] = []
    private var scanned = 0
    private var size = 0

    init(_ value: String, isPublic: Bool, _ strings: TokenCodec, _ reader: StorageReader) {
        self.value = QuerySemantics.equalityForm(value)
        number = Double(value)
        self.isPublic = isPublic
        self.strings = strings
        self.reader = reader
    }

    /// - Parameter marker: the marker of the page before; nil for the first page.
    mutating func run(from marker: String?) throws -> FindRecordsResponse {
        if value.isEmpty { return FindRecordsResponse() }
        let start = try position(marker)
        let zones = try zones(from: start.zone)
        for zone in zones {
            let owner = zone.key.owner
            let account = owner == .everyone ? nil : try reader.liveAccount(id: owner.rawValue)?.name
            if owner != .everyone, account == nil { continue }
            let before = zone.key.id == start.zone ? start.sequence : .max
            if let last = try search(zone, account, before: before) { return answer(zone.key.id, last) }
        }
        guard !isPublic, zones.count == Limits.zonesPerPage, let last = zones.last else { return answer() }
        return answer(last.key.id, 0)
    }

    private func zones(from first: Int64) throws -> [ZoneRow] {
        isPublic
            ? try reader.zones(owner: .everyone).sorted { $0.key.id < $1.key.id }.filter { $0.key.id >= first }
            : try reader.zones(after: max(0, first - 1), limit: Limits.zonesPerPage)
    }

    /// - Returns: the sequence of the last record that was read if the page is full; nil at the end of the zone.
    private mutating func search(_ zone: ZoneRow, _ account: String?, before start: Int64) throws -> Int64? {
        var last = start
        while true {
            if isFull { return last }
            let known = scanned
            try reader.visitRecords(
                zone: zone.key, before: last, limit: min(Limits.recordsPerList, Limits.browsedRecords - scanned),
                size: Limits.lookupSize - size
            ) { record in
                if isFull { return }
                scanned += 1
                size += record.fields.count
                last = record.sequence
                guard !record.isDeleted, !record.isDamaged, let (field, text) = match(record) else { return }
                found.append(
                    .init(
                        account: account, zoneName: zone.name, recordType: String(decoding: record.type, as: UTF8.self),
                        recordName: String(decoding: record.name, as: UTF8.self), field: field, text: text))
            }
            if scanned == known { return nil }
        }
    }

    private var isFull: Bool {
        found.count >= Limits.recordsPerList || scanned >= Limits.browsedRecords || size >= Limits.lookupSize
    }

    /// The first field with the value, and the beginning of its text; nil for none.
    private func match(_ record: RecordRowView) -> (field: String, text: String)? {
        guard let fields = try? EncodedFields(bytes: Array(record.fields)).decoded() else { return nil }
        for entry in fields.entries where !entry.field.isEncrypted {
            if let value = entry.field.value, let text = text(in: value) {
                return (entry.name, Identifier.excerpt(text, Limits.foundText))
            }
        }
        return nil
    }

    private func text(in value: FieldValue) -> String? {
        switch value {
        case .string(let text): contains(text) ? text : nil
        case .int64(let number): self.number == Double(number) ? "\(number)" : nil
        case .double(let number): self.number == number ? "\(number)" : nil
        case .list(_, let values): values.lazy.compactMap(text).first
        default: nil
        }
    }

    /// Compares bytes: comparing characters takes the square of a run of combining marks.
    private func contains(_ text: String) -> Bool {
        let form = QuerySemantics.equalityForm(text)
        guard let first = value.first, form.count >= value.count else { return false }
        let ends = form.count - value.count
        return form.withUnsafeBufferPointer { form in
            form[...ends].indices.contains { form[$0] == first && form[$0..<$0 + value.count].elementsEqual(value) }
        }
    }

    // MARK: The marker

    private func answer(_ zone: Int64, _ sequence: Int64) -> FindRecordsResponse {
        FindRecordsResponse(
            records: found,
            continuationMarker: strings.text(Array("\(zone) \(sequence)".utf8), for: .valueSearch))
    }

    private func answer() -> FindRecordsResponse { FindRecordsResponse(records: found) }

    private func position(_ marker: String?) throws -> (zone: Int64, sequence: Int64) {
        guard let marker else { return (0, .max) }
        let content = strings.content(of: marker, for: .valueSearch).map { String(decoding: $0, as: UTF8.self) }
        let numbers = content?.split(separator: " ").compactMap { Int64($0) } ?? []
        guard numbers.count == 2 else {
            throw ServiceError.invalid("the continuationMarker is not one that this search gave")
        }
        return (numbers[0], numbers[1])
    }
}
