/// The owner of a database. Every key starts with it, so that tables can be distributed (sharded) by it.
package struct OwnerID: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    /// The public database of the container.
    package static let everyone = OwnerID(rawValue: 0)
    /// The owner of an account's unsaved uploads to other owners' databases.
    package static func uploads(of account: Int64) -> OwnerID { OwnerID(rawValue: -account) }
}

/// An account of the container. The raw value is also the owner of the account's private database.
package struct AccountRow: Hashable, Sendable {
    package var id: Int64
    /// The account's name at sign-in; unique. Empty if the account is deleted.
    package var name: String
    /// The name of its user record, `_` and 32 hexadecimal digits; unique, also among deleted accounts.
    package var userRecordName: String
    /// Whether it was deleted: then the row remains for its records in the public database.
    package var isDeleted: Bool

    package var owner: OwnerID { OwnerID(rawValue: id) }

    package init(id: Int64, name: String, userRecordName: String, isDeleted: Bool = false) {
        self.id = id
        self.name = name
        self.userRecordName = userRecordName
        self.isDeleted = isDeleted
    }
}

/// The key of a zone's rows. A zone that is deleted and recreated gets a new `id`: the id is its incarnation.
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
    /// The change sequence of its creation, or of its deletion.
    package var sequence: Int64
    package var isDeleted: Bool
    /// The token that the last client to modify the zone supplied, opaque here.
    package var clientChangeToken: String?
    /// The change sequence of its creation or of the last change in it.
    package var changed: Int64
    /// The change sequence up to which tombstones may have been purged; 0 if none were.
    package var purgedUntil: Int64
    /// The reason of its deletion, opaque here; 0 unless it is deleted.
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

/// A store's number for a record: the fastest lookup key. It says nothing about the content, so records with different
/// numbers may be equal.
package struct RowNumber: Hashable, Sendable {
    /// Above 0; 0 if the record is not stored yet.
    package var value: Int64

    package init(_ value: Int64 = 0) { self.value = value }

    package static func == (left: RowNumber, right: RowNumber) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

/// A record or its tombstone.
package struct RecordRow: Hashable, Sendable {
    package var zone: ZoneKey
    /// Unique in the zone, tombstones included.
    package var name: String
    package var type: String
    /// The change sequence of its last write; unique in the store.
    package var sequence: Int64
    package var isDeleted: Bool
    /// Milliseconds since 1970.
    package var createdAt: Int64
    /// The account that created it; 0 for none.
    package var createdBy: Int64
    /// Milliseconds since 1970.
    package var modifiedAt: Int64
    package var modifiedBy: Int64
    /// The name of its parent record, in the same zone.
    package var parent: String?
    /// The name of its share record, in the same zone.
    package var share: String?
    /// Its fields in wire JSON, opaque here. Empty in a tombstone.
    package var fields: [UInt8]
    /// The number assigned by the store at the first write.
    package var number = RowNumber()
    /// Whether the row fails its checksum. It is then an empty tombstone but for its name, number and sequence.
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

/// An edge between two records of a zone: `source` holds a reference of this kind to `target`.
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

/// A field that the schema knows. `type` is the schema's spelling, opaque here.
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

/// A position among jobs, which are ordered by owner and id: after the job of that owner and id.
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

/// A background job that a commit deferred; it survives a crash.
package struct JobRow: Hashable, Sendable {
    package var id: Int64
    /// The job's kind, named by the service.
    package var kind: String
    package var zone: ZoneKey
    /// The job's subject, in the kind's own terms.
    package var subject: String

    package init(id: Int64 = 0, kind: String, zone: ZoneKey, subject: String) {
        self.id = id
        self.kind = kind
        self.zone = zone
        self.subject = subject
    }
}
