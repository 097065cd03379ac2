extension RecordFields {
    /// The size of the fields' data in bytes, for the limit of 1 MB per record. Names and strings count their UTF-8
    /// bytes; a number, a date and each member of a location count 8 bytes; a reference counts the bytes of its names.
    /// Assets do not count (CKRecord, Apple's documentation), and neither do cleared fields.
    package var storedSize: Int {
        entries.reduce(0) { size, entry in
            guard let value = entry.field.value else { return size }
            return size + entry.name.utf8.count + value.storedSize
        }
    }

    /// The largest field, and its size in bytes with its name; nil if there are no fields.
    package var largest: (name: String, size: Int)? {
        entries.map { (name: $0.name, size: $0.name.utf8.count + ($0.field.value?.storedSize ?? 0)) }
            .max { $0.size < $1.size }
    }

    /// The reason why a field's value cannot be stored unchanged; nil if every value can.
    package var problem: String? {
        for entry in entries {
            if let problem = entry.field.value?.problem { return "field '\(entry.name)': \(problem)" }
        }
        return nil
    }
}

extension Field {
    /// The size of the field's stored value in bytes; 0 if the field has no value.
    package var storedSize: Int { value?.storedSize ?? 0 }
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
        // Elements without content take room, too.
        case .list(_, let elements): elements.reduce(0) { $0 + max(1, $1.storedSize) }
        case .sealed(let value): value.bytes.count
        }
    }

    /// The reason why the value cannot be stored unchanged; nil if it can. JSON has no non-finite numbers, and no
    /// latitude lies beyond the poles.
    ///
    /// The library checks a value before it sends the value, and the service checks it before it stores the value, so
    /// that both refuse the same values.
    package var problem: String? {
        switch self {
        case .double(let value): value.isFinite ? nil : "expected a finite number, found \(value)"
        case .timestamp(let value): value.problem
        case .location(let value): value.problem
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

extension Timestamp {
    fileprivate var problem: String? { seconds.isFinite ? nil : "expected a date, found one \(seconds) seconds away" }
}

extension LocationValue {
    fileprivate var problem: String? {
        if let number = members.first(where: { !$0.isFinite }) {
            return "expected finite numbers in a location, found \(number)"
        }
        if latitude.magnitude > 90 { return "expected a latitude from -90 to 90, found \(latitude)" }
        if longitude.magnitude > 180 { return "expected a longitude from -180 to 180, found \(longitude)" }
        return timestamp?.problem
    }

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
