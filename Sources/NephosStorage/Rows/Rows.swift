/// The owner of a database. Every key of a row starts with the owner, so that the tables can be sharded by owner.
package struct OwnerID: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    /// The owner of the container's public database.
    package static let everyone = OwnerID(rawValue: 0)
    /// The owner of an account's unsaved uploads to the databases of other owners.
    package static func uploads(of account: Int64) -> OwnerID { OwnerID(rawValue: -account) }
}

/// An account of the container. The raw value of its ID is also the owner of its private database.
package struct AccountRow: Hashable, Sendable {
    package var id: Int64
    /// The name with which the account signs in, unique in the store; empty if the account is deleted.
    package var name: String
    /// The name of the account's user record: `_` and 32 hexadecimal digits. It is unique, even among deleted accounts.
    package var userRecordName: String
    /// Whether the account was deleted. Its row then remains for its records in the public database.
    package var isDeleted: Bool
    /// The address to which invitations of the account go. No column of the row has it: it is the name, unless the
    /// service knows accounts by other names than their addresses.
    package var address: String

    package var owner: OwnerID { OwnerID(rawValue: id) }

    package init(id: Int64, name: String, userRecordName: String, isDeleted: Bool = false) {
        self.id = id
        self.name = name
        self.userRecordName = userRecordName
        self.isDeleted = isDeleted
        address = name
    }
}

/// The key of the rows of a zone. A zone that is deleted and recreated gets a new `id`, so the ID identifies one
/// incarnation of the zone.
package struct ZoneKey: Hashable, Sendable {
    package var owner: OwnerID
    package var id: Int64

    package init(owner: OwnerID, id: Int64) {
        self.owner = owner
        self.id = id
    }
}

package struct ZoneRow: Hashable, Sendable {
    package var key: ZoneKey
    package var name: String
    /// The change sequence of the zone's creation; of its deletion, if the zone is deleted.
    package var sequence: Int64
    package var isDeleted: Bool
    /// The token that the last client to modify the zone supplied, opaque to the storage layer; nil if none was
    /// supplied.
    package var clientChangeToken: String?
    /// The change sequence of the last change in the zone, or of its creation.
    package var changed: Int64
    /// The change sequence up to which tombstones of the zone may have been purged; 0 if no tombstone was purged.
    package var purgedUntil: Int64
    /// The code for the reason of the zone's deletion, opaque to the storage layer; 0 unless the zone is deleted.
    package var deletionReason: Int64

    package init(
        key: ZoneKey, name: String, sequence: Int64, isDeleted: Bool = false, clientChangeToken: String? = nil,
        changed: Int64 = 0, purgedUntil: Int64 = 0, deletionReason: Int64 = 0
    ) {
        self.key = key
        self.name = name
        self.sequence = sequence
        self.isDeleted = isDeleted
        self.clientChangeToken = clientChangeToken
        self.changed = changed
        self.purgedUntil = purgedUntil
        self.deletionReason = deletionReason
    }
}

/// The store's number for a record, which gives the fastest lookup. It says nothing about the record's content, so
/// equal records may have different numbers.
package struct RowNumber: Hashable, Sendable {
    /// The number, above 0; 0 if the record is not stored yet.
    package var value: Int64

    package init(_ value: Int64 = 0) { self.value = value }

    package static func == (left: RowNumber, right: RowNumber) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

/// A record or its tombstone.
package struct RecordRow: Hashable, Sendable {
    package var zone: ZoneKey
    /// The record's name, unique in the zone even among tombstones.
    package var name: String
    package var type: String
    /// The change sequence of the record's last write, unique in the store.
    package var sequence: Int64
    package var isDeleted: Bool
    /// The time at which the record was created, in milliseconds since 1970.
    package var createdAt: Int64
    /// The account that created the record; 0 for none.
    package var createdBy: Int64
    /// The time at which the record was last modified, in milliseconds since 1970.
    package var modifiedAt: Int64
    package var modifiedBy: Int64
    /// The name of the parent record, which is in the same zone; nil if the record has no parent.
    package var parent: String?
    /// The name of the record's own share, which is in the same zone; nil if the record has no share.
    package var share: String?
    /// The record's fields in wire JSON, opaque to the storage layer; empty in a tombstone.
    package var fields: [UInt8]
    /// The number that the store assigns to the record at its first write.
    package var number = RowNumber()
    /// Whether the stored row does not match its checksum. This value is then an empty tombstone that has only the
    /// record's name, number and sequence.
    package internal(set) var isDamaged = false

    package init(
        zone: ZoneKey, name: String, type: String, sequence: Int64, isDeleted: Bool = false, createdAt: Int64,
        createdBy: Int64, modifiedAt: Int64, modifiedBy: Int64, parent: String? = nil, share: String? = nil,
        fields: [UInt8]
    ) {
        self.zone = zone
        self.name = name
        self.type = type
        self.sequence = sequence
        self.isDeleted = isDeleted
        self.createdAt = createdAt
        self.createdBy = createdBy
        self.modifiedAt = modifiedAt
        self.modifiedBy = modifiedBy
        self.parent = parent
        self.share = share
        self.fields = fields
    }
}

/// An edge between two records of a zone: the record `source` has a reference of the given kind to the record `target`.
package struct ReferenceRow: Hashable, Sendable {
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        case parent = 1
        case deleteSelf = 2
        case validate = 3
        case share = 4
    }

    package var zone: ZoneKey
    package var target: String
    package var kind: Kind
    package var source: String

    package init(zone: ZoneKey, target: String, kind: Kind, source: String) {
        self.zone = zone
        self.target = target
        self.kind = kind
        self.source = source
    }
}

/// A field that the schema defines. `type` is spelled as in the schema and is opaque to the storage layer.
package struct SchemaFieldRow: Hashable, Sendable {
    package var recordType: String
    package var field: String
    package var type: String

    package init(recordType: String, field: String, type: String) {
        self.recordType = recordType
        self.field = field
        self.type = type
    }
}

/// A position in the list of jobs, which is ordered by owner and ID: after the job with this owner and ID.
package struct JobPosition: Hashable, Sendable {
    package var owner: OwnerID
    package var id: Int64

    package init(owner: OwnerID, id: Int64) {
        self.owner = owner
        self.id = id
    }

    package init(_ job: JobRow) {
        self.init(owner: job.zone.owner, id: job.id)
    }
}

/// A background job that a commit deferred. The job survives a crash.
package struct JobRow: Hashable, Sendable {
    package var id: Int64
    /// The job's kind, in the service's own terms.
    package var kind: String
    package var zone: ZoneKey
    /// The job's subject, in the terms of its kind.
    package var subject: String

    package init(id: Int64 = 0, kind: String, zone: ZoneKey, subject: String) {
        self.id = id
        self.kind = kind
        self.zone = zone
        self.subject = subject
    }
}
