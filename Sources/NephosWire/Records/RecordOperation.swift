/// A change of a reference that a record stores outside its fields (`parent`, `share`).
package enum ReferenceChange: Hashable, Sendable {
    case keep
    case clear
    case set(ReferenceValue)
}

/// A record in requests (CloudKit Web Services, Record Dictionary).
package struct RecordToModify: Hashable, Sendable {
    package var recordName: String?
    package var recordType: String?
    package var recordChangeTag: String?
    /// Our addition: the record's zone, if it is not the request's zone, so that one request can span zones.
    package var zoneID: ZoneIDDictionary?
    package var fields: RecordFields
    package var parent: ReferenceChange
    /// The share's properties that the request sets; nil if the record is not a share.
    package var share: ShareToModify?
    /// Whether the request asks for the last component of the URL of the record's share.
    package var createShortGUID: Bool
    /// Our addition, `nephosKeys` on the wire: the wrapped keys of the record's encrypted values.
    package var keys: [WrappedRecordKey] = []
    /// Our addition, `nephosKeep` on the wire: the names of fields that a replacement leaves unchanged, unless `fields`
    /// contains them.
    package var keep: [String] = []

    package init(
        recordName: String? = nil, recordType: String? = nil, recordChangeTag: String? = nil,
        zoneID: ZoneIDDictionary? = nil, fields: RecordFields = RecordFields(), parent: ReferenceChange = .keep,
        share: ShareToModify? = nil, createShortGUID: Bool = false
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.zoneID = zoneID
        self.fields = fields
        self.parent = parent
        self.share = share
        self.createShortGUID = createShortGUID
    }
}

/// One operation of `records/modify` of CloudKit Web Services.
package struct RecordOperation: Hashable, Sendable {
    package enum OperationType: String, Hashable, Sendable, CaseIterable {
        case create, update, forceUpdate, replace, forceReplace, delete, forceDelete
    }

    package var operationType: OperationType
    package var record: RecordToModify
    package var desiredKeys: [String]?
    /// Whether the answer quotes numbers; nil for the request's setting.
    package var numbersAsStrings: Bool?

    package init(
        operationType: OperationType, record: RecordToModify, desiredKeys: [String]? = nil,
        numbersAsStrings: Bool? = nil
    ) {
        self.operationType = operationType
        self.record = record
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// The request of `records/modify` of CloudKit Web Services.
package struct ModifyRecordsRequest: Hashable, Sendable {
    package var operations: [RecordOperation]
    package var zoneID: ZoneIDDictionary?
    /// Whether the request is all or nothing; nil for the zone's default, which is true in a custom zone.
    package var atomic: Bool?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    /// Our addition, `nephosServerRecord` on the wire: whether a conflict's error contains the server's record.
    package var wantsServerRecord: Bool
    /// Our addition, `nephosLacksKeys` on the wire: whether the client cannot wrap keys. If so, records that become
    /// part of a share are saved without wrapped keys, and another device of the owner wraps the keys later.
    package var lacksKeys = false
    /// Our addition, `clientChangeToken` on the wire: the client's own data in base64. `changes/zone` returns the data
    /// until the zones are modified again.
    package var clientChangeToken: String?
    /// Our addition, `nephosRequestKey` on the wire: the request's idempotency key, 1 to 64 letters, digits and `-`.
    /// The same request with the same key is executed once, and a repetition within an hour gets the same answer.
    package var requestKey: String?
    /// The digest of the request's body, which distinguishes it from other requests with the same key. Empty if the
    /// caller guarantees that there are none.
    package var bodyDigest: [UInt8] = []

    /// Creates a request key. Later keys sort after earlier ones, byte by byte, so that a store's index appends them.
    package static func makeRequestKey(now: Int64) -> String {
        let time = String(now, radix: 36)
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        return String(repeating: "0", count: max(0, 9 - time.utf8.count)) + time + "-" + random
    }

    package init(
        operations: [RecordOperation], zoneID: ZoneIDDictionary? = nil, atomic: Bool? = nil,
        desiredKeys: [String]? = nil, numbersAsStrings: Bool = false, wantsServerRecord: Bool = false,
        clientChangeToken: String? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.wantsServerRecord = wantsServerRecord
        self.clientChangeToken = clientChangeToken
    }
}

/// The request of `records/lookup` of CloudKit Web Services.
package struct LookupRecordsRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        /// Our addition: the record's zone, if it is not the request's zone.
        package var zoneID: ZoneIDDictionary?
        package var desiredKeys: [String]?

        package init(recordName: String, zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
        }
    }

    package var records: [Item]
    package var zoneID: ZoneIDDictionary?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool

    package init(
        records: [Item], zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) {
        self.records = records
        self.zoneID = zoneID
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// The answer of `records/modify` and `records/lookup`: one result per item of the request, in the request's order.
package struct RecordsResponse: Hashable, Sendable {
    package var records: [RecordResult]
    /// The encoded JSON array of the results. If it is not nil, `records` is empty. A server fills it, because the
    /// server encodes records while it reads them.
    package var encodedRecords: JSONBytes?
    /// The current position in the zone's change feed, for clients that request it.
    package var syncToken: String?
    /// The failed items among `encodedRecords`.
    package var encodedFailures = ItemFailures()

    package init(records: [RecordResult]) { self.records = records }
}

/// The failed items of an answer.
package struct ItemFailures: Hashable, Sendable {
    package private(set) var errors: [ErrorDictionary] = []

    package var count: Int { errors.count }
    package var first: ErrorDictionary? { errors.first }

    package init() {}

    package mutating func add(_ error: ErrorDictionary) { errors.append(error) }
}

extension LookupRecordsRequest {
    private static let askForFewer = "bytes of records before this one; look up fewer at a time"

    /// The reason of the refusal to look up a record after others of that many bytes.
    package static func fullAnswer(_ bytes: Int) -> String { "the answer holds \(bytes) \(askForFewer)" }

    /// Whether a record was refused because of the records before it, so that another request may have it.
    package static func isOfFullAnswer(_ reason: String) -> Bool { reason.contains(askForFewer) }
}
