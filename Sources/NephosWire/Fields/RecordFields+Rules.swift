extension RecordFields {
    /// The size of the fields' data in bytes, for the limit of 1 MB on a record: names and strings in UTF-8, 8 for a
    /// number, a date or a member of a location, the names in a reference. Assets do not count (CKRecord, Apple's
    /// documentation), and neither do cleared fields.
    package var storedSize: Int {
        entries.reduce(0) { size, entry in
            guard let value = entry.field.value else { return size }
            return size + entry.name.utf8.count + value.storedSize
        }
    }

    /// Throws for values that could not travel as JSON: numbers that are not finite, lists whose elements are not all
    /// of the list's type. Decoded fields always pass; a caller in the same process may hold others.
    package func validate() throws(WireError) {
        for entry in entries {
            guard let problem = entry.field.value?.problem else { continue }
            let path = WirePath.appending(member: "value", to: WirePath.appending(member: entry.name, to: ""))
            throw WireError(path: path, reason: "field '\(entry.name)', \(problem)")
        }
    }
}

extension FieldValue {
    fileprivate var storedSize: Int {
        switch self {
        case .string(let value): value.utf8.count
        case .int64, .double, .timestamp: 8
        case .bytes(let value): value.count
        case .location(let value): value.storedSize
        case .reference(let value): value.storedSize
        case .asset: 0
        case .list(_, let elements): elements.reduce(0) { $0 + $1.storedSize }
        }
    }

    fileprivate var problem: String? {
        switch self {
        case .double(let value): value.isFinite ? nil : "expected a finite number, found \(value)"
        case .location(let value):
            value.members.allSatisfy(\.isFinite) ? nil : "expected finite numbers in a location, found \(value)"
        case .list(let scalar, let elements):
            elements.lazy.compactMap { element in
                element.type == FieldType(scalar)
                    ? element.problem
                    : "expected \(FieldType(scalar).wireName) in the list, found \(element.type.wireName)"
            }.first
        default: nil
        }
    }
}

extension LocationValue {
    fileprivate var members: [Double] {
        [latitude, longitude] + [horizontalAccuracy, verticalAccuracy, altitude, speed, course].compactMap(\.self)
    }

    fileprivate var storedSize: Int { 8 * (members.count + (timestamp == nil ? 0 : 1)) }
}

extension ReferenceValue {
    fileprivate var storedSize: Int {
        recordName.utf8.count + (zoneID.map { $0.zoneName.utf8.count + ($0.ownerRecordName?.utf8.count ?? 0) } ?? 0)
    }
}
