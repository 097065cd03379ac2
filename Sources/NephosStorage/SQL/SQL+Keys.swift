extension SQL {
    /// The statements that read and write wrapped keys.
    var keyText: String? {
        switch self {
        case .keysOfSubject:
            """
            SELECT id, body FROM wrapped_key WHERE owner = $1 AND zone = $2 AND kind = $3 AND subject = $4 ORDER BY id
            """
        case .keysOfKind:
            """
            SELECT subject, id, body FROM wrapped_key WHERE owner = $1 AND zone = $2 AND kind = $3
            ORDER BY subject, id
            """
        case .keySizes:
            """
            SELECT kind, subject, id, length(subject) + length(id) + length(body) FROM wrapped_key
            WHERE owner = $1 AND zone = $2 AND (kind, subject, id) > ($3, $4, $5) ORDER BY kind, subject, id LIMIT $6
            """
        case .putKey:
            """
            INSERT INTO wrapped_key (owner, zone, kind, subject, id, body) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (owner, zone, kind, subject, id) DO UPDATE SET body = excluded.body
            """
        case .removeKey:
            """
            DELETE FROM wrapped_key WHERE owner = $1 AND zone = $2 AND kind = $3 AND subject = $4 AND id = $5
            """
        case .removeKeysOfSubject:
            "DELETE FROM wrapped_key WHERE owner = $1 AND zone = $2 AND kind = $3 AND subject = $4"
        case .purgeKeys:
            """
            DELETE FROM wrapped_key WHERE owner = $1 AND zone = $2 AND (kind, subject, id) IN (
                SELECT kind, subject, id FROM wrapped_key WHERE owner = $1 AND zone = $2
                ORDER BY kind, subject, id LIMIT $3)
            """
        default: nil
        }
    }
}

extension StorageReader {
    /// The keys of one kind and subject in a zone, ordered by ID (byte-wise).
    package final func keys(zone: ZoneKey, kind: KeyRow.Kind, subject: String) throws -> [KeyRow] {
        try rows(.keysOfSubject) {
            try $0.bind(zone).bind(kind.rawValue).bind(subject)
        } read: {
            KeyRow(zone: zone, kind: kind, subject: subject, id: $0.bytes(0), body: $0.bytes(1))
        }
    }

    /// The keys of one kind in a zone, ordered by subject and ID (both byte-wise).
    package final func keys(zone: ZoneKey, kind: KeyRow.Kind) throws -> [KeyRow] {
        try rows(.keysOfKind) {
            try $0.bind(zone).bind(kind.rawValue)
        } read: {
            KeyRow(zone: zone, kind: kind, subject: $0.text(0), id: $0.bytes(1), body: $0.bytes(2))
        }
    }

    /// Where a reading of all keys of a zone goes on.
    package struct KeyPosition: Hashable, Sendable {
        var kind: Int64 = 0
        var subject = ""
        var id: [UInt8] = []

        package init() {}
    }

    /// The number and the bytes of the keys of a zone after a position, up to `limit` of them: of their subjects, IDs and
    /// bodies.
    /// - Returns: also the position of the last one.
    package final func keySizes(
        zone: ZoneKey, after position: KeyPosition, limit: Int
    ) throws -> (count: Int, bytes: Int64, last: KeyPosition) {
        var (count, bytes, last) = (0, Int64(0), position)
        let found = try rows(.keySizes) {
            try $0.bind(zone).bind(position.kind).bind(position.subject).bind(position.id).bind(limit: limit)
        } read: {
            (kind: $0.integer(0), subject: $0.text(1), id: $0.bytes(2), size: $0.integer(3))
        }
        for row in found {
            (count, bytes) = (count + 1, bytes + row.size)
            (last.kind, last.subject, last.id) = (row.kind, row.subject, row.id)
        }
        return (count, bytes, last)
    }
}

extension StorageTransaction {
    /// Adds a key, or replaces the key with the same ID.
    package func put(_ key: KeyRow) throws {
        try change(.putKey) {
            try $0.bind(key.zone).bind(key.kind.rawValue).bind(key.subject).bind(key.id).bind(key.body)
        }
    }

    /// Removes a key. Does nothing if the key does not exist.
    package func removeKey(zone: ZoneKey, kind: KeyRow.Kind, subject: String, id: [UInt8]) throws {
        try change(.removeKey) { try $0.bind(zone).bind(kind.rawValue).bind(subject).bind(id) }
    }

    /// Removes up to `limit` keys of a zone.
    /// - Returns: the number of removed keys.
    package func purgeKeys(zone: ZoneKey, limit: Int) throws -> Int {
        try change(.purgeKeys) { try $0.bind(zone).bind(limit: limit) }
    }
}
