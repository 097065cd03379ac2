import NephosWire

/// Parts of recorded messages, with every member set.
enum Samples {
    static let zoneID = ZoneIDDictionary(zoneName: "Gallery", ownerRecordName: "_owner")

    static var zone: ZoneDictionary {
        var zone = ZoneDictionary(
            zoneID: zoneID, syncToken: "token", atomic: true, deleted: true, deletionReason: .encryptedDataReset)
        zone.share = "share"
        zone.encryptionScope = .perZone
        return zone
    }

    static let fields = RecordFields([
        RecordFields.Entry(name: "title", field: Field(.string("Gr\u{FC}n \"1\""))),
        RecordFields.Entry(name: "year", field: Field(.int64(1932))),
    ])

    static let reference = ReferenceValue(recordName: "root", zoneID: zoneID)

    static let plainRecord = RecordDictionary(recordName: "A", recordType: "Artwork", recordChangeTag: "1")

    static var record: RecordDictionary {
        var record = RecordDictionary(
            recordName: "A", recordType: "Artwork", recordChangeTag: "1f", zoneID: zoneID, fields: fields.encoded(),
            created: TimestampDictionary(timestamp: 1_000, userRecordName: "_a", deviceID: "2"),
            modified: TimestampDictionary(timestamp: 2_000, userRecordName: "_b", deviceID: "2"), parent: reference,
            share: reference)
        record.shortGUID = "guid"
        return record
    }

    /// A share's record in an answer.
    static var share: RecordDictionary {
        var details = ShareDictionary(
            shortGUID: "guid", publicPermission: .readOnly, participants: [participant], owner: participant,
            currentUserParticipant: participant, deniesAccessRequests: false, requesters: [identity],
            blocked: [identity], rootRecordName: "root")
        details.hasKeys = true
        details.wantsKeys = true
        return RecordDictionary(
            recordName: "share", recordType: RecordDictionary.shareType, recordChangeTag: "2", shareDetails: details)
    }

    static let identity = UserIdentityDictionary(
        userRecordName: "_b",
        lookupInfo: UserLookupRequest.LookupInfo(
            emailAddress: "b@example.com", phoneNumber: "+1", userRecordName: "_b"),
        givenName: "Bo", familyName: "Berg", hasAccount: true)

    static let participant = ParticipantDictionary(
        participantID: "p", userIdentity: identity, role: .administrator, permission: .readWrite,
        acceptanceStatus: .accepted, isApprovedRequester: true, dateAdded: 3_000, oneTimeGUID: "once")

    static let failure = ErrorDictionary(uuid: "u", serverErrorCode: .notFound, reason: "no such item")

    static var error: ErrorDictionary {
        var error = ErrorDictionary(
            uuid: "u", serverErrorCode: .conflict, reason: "changed", retryAfter: 1.5,
            redirectURL: "https://example.com", recordName: "A", zoneID: zoneID, subscriptionID: "S",
            clientErrorCode: 14, serverRecord: plainRecord)
        error.userDidResetEncryptedData = true
        error.needsKeys = true
        error.needsFile = true
        error.keyGroup = "share"
        error.duplicateOf = "T"
        return error
    }

    static var recordKey: WrappedRecordKey {
        var key = WrappedRecordKey(id: [1, 2, 3], group: "share", version: 2, wrapped: [4], isInherited: true)
        key.isSpent = true
        key.groupKeyID = [5]
        return key
    }

    static var groupKey: WrappedGroupKey {
        var key = WrappedGroupKey(
            version: 2, recipient: [1], box: [2, 3], previous: [4], signer: [5], signature: [6])
        key.administrators = [[7], [8]]
        return key
    }

    static let link = WrappedLink(version: 2, key: [1], secret: [2])
    static let oneTimeLink = OneTimeLink(participantID: "p", link: link)

    static var asset: AssetValue {
        AssetValue(
            fileChecksum: "sum", size: 5, receipt: "receipt", wrappingKey: "key", referenceChecksum: "reference",
            downloadURL: "https://example.com/f", content: "content", seal: .wrapped([1, 2]))
    }

    static var query: Query {
        Query(
            recordType: "Artwork",
            filterBy: [
                Filter(.field("title"), .beginsWith, .string("G")),
                Filter(.field("place"), .near, .location(LocationValue(latitude: 1.5, longitude: 2)), distance: 10),
                Filter(.system(.modifiedTimestamp), .greaterThan, .timestamp(1_000)),
                Filter(.allSearchableFields, .containsAllTokens, .string("blue")),
            ],
            sortBy: [
                QuerySortDescriptor(
                    .field("place"), ascending: false, relativeLocation: LocationValue(latitude: 1, longitude: 2)),
                QuerySortDescriptor(.system(.recordName)),
            ],
            extendedFilter: .or([
                .not(.filter(Filter(.field("year"), .in, .list(of: .int64, [.int64(1), .int64(2)])))),
                .and([.all, .none]),
            ]))
    }
}
