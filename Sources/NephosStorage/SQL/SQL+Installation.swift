extension SQL {
    /// The statements that read and write the entries of the installation's store.
    var installationText: String? {
        switch self {
        case .installationEntry:
            "SELECT body, expires_at FROM installation_entry WHERE owner = $1 AND kind = $2 AND name = $3"
        case .installationEntries:
            """
            SELECT name, body, expires_at FROM installation_entry
            WHERE owner = $1 AND kind = $2 AND name > $3 ORDER BY name LIMIT $4
            """
        case .putInstallationEntry:
            """
            INSERT INTO installation_entry (owner, kind, name, body, expires_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (owner, kind, name) DO UPDATE SET body = excluded.body, expires_at = excluded.expires_at
            """
        case .removeInstallationEntry: "DELETE FROM installation_entry WHERE owner = $1 AND kind = $2 AND name = $3"
        case .expiredInstallationEntries:
            """
            SELECT kind, name FROM installation_entry
            WHERE owner = $1 AND expires_at > 0 AND expires_at <= $2 ORDER BY expires_at LIMIT $3
            """
        default: nil
        }
    }
}

extension StorageReader {
    /// The entry with that name; nil if there is none.
    package final func installationEntry(_ kind: InstallationEntry.Kind, _ name: String) throws -> InstallationEntry? {
        try row(.installationEntry) {
            try $0.bind(owner: OwnerID.everyone.rawValue).bind(kind.rawValue).bind(name)
        } read: {
            InstallationEntry(kind: kind, name: name, body: $0.bytes(0), expiresAt: $0.integer(1))
        }
    }

    /// The entries of a kind with names above `name`, ordered by name (byte-wise).
    package final func installationEntries(
        _ kind: InstallationEntry.Kind, after name: String, limit: Int
    ) throws -> [InstallationEntry] {
        try rows(.installationEntries) {
            try $0.bind(owner: OwnerID.everyone.rawValue).bind(kind.rawValue).bind(name).bind(limit: limit)
        } read: {
            InstallationEntry(kind: kind, name: $0.text(0), body: $0.bytes(1), expiresAt: $0.integer(2))
        }
    }
}

extension StorageTransaction {
    /// Adds an entry, or replaces the entry with the same kind and name.
    package func put(_ entry: InstallationEntry) throws {
        try change(.putInstallationEntry) {
            try $0.bind(owner: OwnerID.everyone.rawValue).bind(entry.kind.rawValue).bind(entry.name)
                .bind(entry.body).bind(entry.expiresAt)
        }
    }

    /// Puts and removes an entry, so that the commit has something to write.
    package func testWritingEntries() throws {
        let entry = InstallationEntry(kind: .usedChallenge, name: "readiness", body: [], expiresAt: 1)
        try put(entry)
        _ = try removeInstallationEntry(entry.kind, entry.name)
    }

    /// Removes an entry.
    /// - Returns: false if it does not exist.
    @discardableResult
    package func removeInstallationEntry(_ kind: InstallationEntry.Kind, _ name: String) throws -> Bool {
        try change(.removeInstallationEntry) {
            try $0.bind(owner: OwnerID.everyone.rawValue).bind(kind.rawValue).bind(name)
        } > 0
    }

    /// Removes up to `limit` entries that have expired by `time`, the oldest first.
    /// - Returns: the number of removed entries.
    package func purgeInstallationEntries(expiredBy time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredInstallationEntries) {
            try $0.bind(owner: OwnerID.everyone.rawValue).bind(time).bind(limit: limit)
        } read: {
            (kind: $0.integer(0), name: $0.text(1))
        }
        // A newer server may have made entries of kinds that this one does not know.
        for entry in expired {
            try change(.removeInstallationEntry) {
                try $0.bind(owner: OwnerID.everyone.rawValue).bind(entry.kind).bind(entry.name)
            }
        }
        return expired.count
    }
}
