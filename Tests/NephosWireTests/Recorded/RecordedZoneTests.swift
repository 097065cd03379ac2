import NephosWire
import Testing

/// The bytes and decoding errors of messages about zones and their changes.
struct RecordedZoneTests {
    @Test func `a request that modifies zones keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ModifyZonesRequest(operations: []), #"{"operations":[]}"#,
            full: ModifyZonesRequest(
                operations: [
                    ZoneOperation(operationType: .create, zoneID: Samples.zoneID, encryptionScope: .perZone),
                    ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "Z")),
                ]),
            #"""
            {"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Gallery",\#
            "ownerRecordName":"_owner"},"nephosEncryptionScope":"PER_ZONE"}},{"operationType":"delete",\#
            "zone":{"zoneID":{"zoneName":"Z"}}}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at operations: expected an array, found nothing
                operations missing or null: expected an array, found nothing
                operations 5: expected an array of operations, found the number 5
                operations[0] null: expected an operation, found null
                operations[0] 5: expected an operation, found the number 5
                operations[0].operationType missing or null: expected one of create, delete, found nothing
                operations[0].operationType {}: expected one of create, delete, found an object
                operations[0].operationType "?": expected one of create, delete, found the string "?"
                operations[0].zone missing or null: expected a dictionary with the key "zoneID", found nothing
                operations[0].zone 5: expected an object, found the number 5
                operations[0].zone.zoneID missing or null: expected a zone ID, found nothing
                operations[0].zone.zoneID 5: expected a zone ID, found the number 5
                operations[0].zone.zoneID.zoneName missing or null: expected a string, found nothing
                operations[0].zone.zoneID.zoneName {}: expected a string, found an object
                operations[0].zone.zoneID.ownerRecordName {}: expected a string, found an object
                operations[0].zone.nephosEncryptionScope {}: expected one of PER_RECORD, PER_ZONE, found an object
                operations[0].zone.nephosEncryptionScope "?": expected one of PER_RECORD, PER_ZONE, found the string \#
                "?"
                """#)
    }

    @Test func `a request that looks up zones keeps its bytes and errors`() throws {
        try expectRecorded(
            small: LookupZonesRequest(zones: []), #"{"zones":[]}"#,
            full: LookupZonesRequest(zones: [Samples.zoneID, .defaultZone]),
            #"""
            {"zones":[{"zoneName":"Gallery","ownerRecordName":"_owner"},{"zoneName":"_defaultZone"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at zones: expected an array, found nothing
                zones missing or null: expected an array, found nothing
                zones 5: expected an array of zone IDs, found the number 5
                zones[0] null: expected a zone ID, found null
                zones[0] 5: expected a zone ID, found the number 5
                zones[0].zoneName missing or null: expected a string, found nothing
                zones[0].zoneName, zones[0].ownerRecordName {}: expected a string, found an object
                """#)
    }

    @Test func `an answer with zones keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ZonesResponse(zones: [.zone(ZoneDictionary(zoneID: .defaultZone, atomic: false))]),
            #"""
            {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"},"atomic":false,\#
            "deleted":false}]}
            """#,
            full: ZonesResponse(zones: [.zone(Samples.zone), .failure(Samples.failure)]),
            #"""
            {"zones":[{"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner",\#
            "zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"token","atomic":true,"deleted":true,\#
            "nephosShare":"share","nephosEncryptionScope":"PER_ZONE",\#
            "nephosDeletionReason":"ENCRYPTED_DATA_RESET"},{"uuid":"u","serverErrorCode":"NOT_FOUND",\#
            "reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at zones: expected an array, found nothing
                zones missing or null: expected an array, found nothing
                zones 5: expected an array of zones, found the number 5
                zones[0] null: expected a zone, found null
                zones[0] 5: expected a zone, found the number 5
                zones[0].zoneID missing or null: expected a zone ID, found nothing
                zones[0].zoneID 5: expected a zone ID, found the number 5
                zones[0].zoneID.zoneName missing or null: expected a string, found nothing
                zones[0].zoneID.zoneName, zones[0].zoneID.ownerRecordName {}: expected a string, found an object
                zones[0].syncToken, zones[0].nephosShare {}: expected a string, found an object
                zones[0].nephosEncryptionScope {}: expected a string, found an object
                zones[0].nephosDeletionReason {}: expected a string, found an object
                zones[0].zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                zones[0].atomic, zones[0].deleted missing or null: reads as false
                zones[0].atomic, zones[0].deleted {}: expected true or false, found an object
                zones[0].nephosEncryptionScope, zones[0].nephosDeletionReason "?": reads as nothing
                """#)
    }

    @Test func `a request for a database's changes keeps its bytes and errors`() throws {
        try expectRecorded(
            small: DatabaseChangesRequest(), #"{}"#,
            full: DatabaseChangesRequest(syncToken: "token", resultsLimit: 5, fetchEnd: "end"),
            #"{"syncToken":"token","resultsLimit":5,"nephosFetchEnd":"end"}"#,
            malformed: #"""
                []: expected an object, found an array
                syncToken, nephosFetchEnd {}: expected a string, found an object
                resultsLimit {}: expected an integer, found an object
                """#)
    }

    @Test func `a database's changes keep their bytes and errors`() throws {
        try expectRecorded(
            small: DatabaseChangesResponse(zones: [], syncToken: "token", moreComing: false),
            #"{"zones":[],"syncToken":"token","metaSyncToken":"token","moreComing":false}"#,
            full: DatabaseChangesResponse(zones: [Samples.zone], syncToken: "token", moreComing: true, fetchEnd: "end"),
            #"""
            {"zones":[{"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner",\#
            "zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"token","atomic":true,"deleted":true,\#
            "nephosShare":"share","nephosEncryptionScope":"PER_ZONE",\#
            "nephosDeletionReason":"ENCRYPTED_DATA_RESET"}],"syncToken":"token","metaSyncToken":"token",\#
            "moreComing":true,"nephosFetchEnd":"end"}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at zones: expected an array, found nothing
                zones missing or null: expected an array, found nothing
                zones 5: expected an array of zones, found the number 5
                zones[0] null: expected a zone, found null
                zones[0] 5: expected a zone, found the number 5
                zones[0].zoneID missing or null: expected a zone ID, found nothing
                zones[0].zoneID 5: expected a zone ID, found the number 5
                zones[0].zoneID.zoneName missing or null: expected a string, found nothing
                zones[0].zoneID.zoneName, zones[0].zoneID.ownerRecordName {}: expected a string, found an object
                zones[0].syncToken, zones[0].nephosShare {}: expected a string, found an object
                zones[0].nephosEncryptionScope {}: expected a string, found an object
                zones[0].nephosDeletionReason, syncToken, nephosFetchEnd {}: expected a string, found an object
                zones[0].zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                zones[0].atomic, zones[0].deleted, moreComing missing or null: reads as false
                zones[0].atomic, zones[0].deleted, moreComing {}: expected true or false, found an object
                zones[0].nephosEncryptionScope, zones[0].nephosDeletionReason "?": reads as nothing
                syncToken missing or null: reads as ""
                metaSyncToken missing or null or {} or "?": reads as "token"
                """#)
    }

    private var zoneRequest: RecordZoneChangesRequest.Zone {
        RecordZoneChangesRequest.Zone(
            zoneID: Samples.zoneID, syncToken: "token", resultsLimit: 5, desiredKeys: ["title"],
            desiredRecordTypes: ["Artwork"], numbersAsStrings: true, reverse: true, fetchEnd: "end", packed: true,
            deletionsSince: "earlier")
    }

    @Test func `a request for zones' changes keeps its bytes and errors`() throws {
        try expectRecorded(
            small: RecordZoneChangesRequest(zones: []), #"{"zones":[]}"#,
            full: RecordZoneChangesRequest(zones: [zoneRequest]),
            #"""
            {"zones":[{"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"syncToken":"token",\#
            "resultsLimit":5,"desiredKeys":["title"],"desiredRecordTypes":["Artwork"],"numbersAsStrings":true,\#
            "reverse":true,"nephosFetchEnd":"end","nephosPacked":true,"nephosDeletionsSince":"earlier"}]}
            """#,
            malformed: #"""
                []: expected a dictionary with the key "zoneID", found an array
                {}: at zones: expected an array, found nothing
                zones missing or null: expected an array, found nothing
                zones 5: expected an array of zones, found the number 5
                zones[0] null: expected a dictionary with the key "zoneID", found null
                zones[0] 5: expected a dictionary with the key "zoneID", found the number 5
                zones[0].zoneID missing or null: expected a zone ID, found nothing
                zones[0].zoneID 5: expected a zone ID, found the number 5
                zones[0].zoneID.zoneName missing or null: expected a string, found nothing
                zones[0].zoneID.zoneName, zones[0].zoneID.ownerRecordName {}: expected a string, found an object
                zones[0].syncToken, zones[0].desiredKeys[0] {}: expected a string, found an object
                zones[0].desiredRecordTypes[0], zones[0].nephosFetchEnd {}: expected a string, found an object
                zones[0].nephosDeletionsSince {}: expected a string, found an object
                zones[0].resultsLimit {}: expected an integer, found an object
                zones[0].desiredKeys 5: expected an array of strings, found the number 5
                zones[0].desiredRecordTypes 5: expected an array of strings, found the number 5
                zones[0].desiredKeys[0], zones[0].desiredRecordTypes[0] null: expected a string, found null
                zones[0].numbersAsStrings, zones[0].reverse {}: expected true or false, found an object
                zones[0].nephosPacked {}: expected true or false, found an object
                """#)
    }

    private var changes: RecordZoneChanges {
        RecordZoneChanges(
            zoneID: Samples.zoneID,
            records: [
                .record(Samples.plainRecord), .deleted(DeletedRecord(recordName: "B", recordType: "Artwork")),
                .failure(Samples.failure),
            ], syncToken: "token", moreComing: true, clientChangeToken: "QUJD", fetchEnd: "end")
    }

    @Test func `zones' changes keep their bytes and errors`() throws {
        let small = RecordZoneChanges(zoneID: .defaultZone, records: [], syncToken: "token", moreComing: false)
        try expectRecorded(
            small: RecordZoneChangesResponse(zones: [.changes(small)]),
            #"""
            {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"},"records":[],\#
            "syncToken":"token","moreComing":false}]}
            """#,
            full: RecordZoneChangesResponse(zones: [.changes(changes), .failure(Samples.failure)]),
            #"""
            {"zones":[{"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner",\#
            "zoneType":"REGULAR_CUSTOM_ZONE"},"records":[{"recordName":"A","recordType":"Artwork",\#
            "recordChangeTag":"1","fields":{},"pluginFields":{},"deleted":false},{"recordName":"B",\#
            "deleted":true,"recordType":"Artwork"},{"uuid":"u","serverErrorCode":"NOT_FOUND",\#
            "reason":"no such item"}],"syncToken":"token","moreComing":true,"clientChangeToken":"QUJD",\#
            "nephosFetchEnd":"end"},{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at zones: expected an array, found nothing
                zones missing or null: expected an array, found nothing
                zones 5: expected an array of zones, found the number 5
                zones[0] null: expected a zone's changes, found null
                zones[0] 5: expected a zone's changes, found the number 5
                zones[0].zoneID missing or null: expected a zone ID, found nothing
                zones[0].zoneID 5: expected a zone ID, found the number 5
                zones[0].zoneID.zoneName missing or null: expected a string, found nothing
                zones[0].records[0].recordName missing or null: expected a string, found nothing
                zones[0].records[0].recordType missing or null: expected a string, found nothing
                zones[0].records[0].recordChangeTag missing or null: expected a string, found nothing
                zones[0].syncToken missing or null: expected a string, found nothing
                zones[0].zoneID.zoneName, zones[0].zoneID.ownerRecordName {}: expected a string, found an object
                zones[0].records[0].recordName {}: expected a string, found an object
                zones[0].records[0].recordType {}: expected a string, found an object
                zones[0].records[0].recordChangeTag, zones[0].syncToken {}: expected a string, found an object
                zones[0].clientChangeToken, zones[0].nephosFetchEnd {}: expected a string, found an object
                zones[0].zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                zones[0].records missing or null: reads as []
                zones[0].records 5: expected an array of records, found the number 5
                zones[0].records[0] null: expected a record, found null
                zones[0].records[0] 5: expected a record, found the number 5
                zones[0].records[0].fields missing or null: reads as {}
                zones[0].records[0].fields 5: expected an object of fields, found the number 5
                zones[0].records[0].pluginFields missing or null or 5: reads as {}
                zones[0].records[0].deleted missing or null or {}: reads as false
                zones[0].moreComing missing or null: reads as false
                zones[0].moreComing {}: expected true or false, found an object
                """#)
    }

    @Test func `a request for one zone's changes keeps its bytes and errors`() throws {
        try expectRecorded(
            small: RecordChangesRequest(zone: RecordZoneChangesRequest.Zone(zoneID: .defaultZone)),
            #"{"zoneID":{"zoneName":"_defaultZone"}}"#,
            full: RecordChangesRequest(zone: zoneRequest),
            #"""
            {"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"syncToken":"token","resultsLimit":5,\#
            "desiredKeys":["title"],"desiredRecordTypes":["Artwork"],"numbersAsStrings":true,"reverse":true,\#
            "nephosFetchEnd":"end","nephosPacked":true,"nephosDeletionsSince":"earlier"}
            """#,
            malformed: #"""
                []: expected a dictionary with the key "zoneID", found an array
                zoneID missing or null: reads as {"zoneName":"_defaultZone"}
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneName missing or null: expected a string, found nothing
                zoneID.zoneName, zoneID.ownerRecordName, syncToken {}: expected a string, found an object
                desiredKeys[0], desiredRecordTypes[0], nephosFetchEnd {}: expected a string, found an object
                nephosDeletionsSince {}: expected a string, found an object
                resultsLimit {}: expected an integer, found an object
                desiredKeys, desiredRecordTypes 5: expected an array of strings, found the number 5
                desiredKeys[0], desiredRecordTypes[0] null: expected a string, found null
                numbersAsStrings, reverse, nephosPacked {}: expected true or false, found an object
                """#)
    }

    @Test func `one zone's changes keep their bytes and errors`() throws {
        let small = RecordZoneChanges(zoneID: .defaultZone, records: [], syncToken: "token", moreComing: false)
        var changes = changes
        // This form does not name the zone.
        changes.zoneID = .defaultZone
        try expectRecorded(
            small: RecordChangesResponse(changes: small), #"{"records":[],"syncToken":"token","moreComing":false}"#,
            full: RecordChangesResponse(changes: changes),
            #"""
            {"records":[{"recordName":"A","recordType":"Artwork","recordChangeTag":"1","fields":{},\#
            "pluginFields":{},"deleted":false},{"recordName":"B","deleted":true,"recordType":"Artwork"},\#
            {"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}],"syncToken":"token",\#
            "moreComing":true,"clientChangeToken":"QUJD","nephosFetchEnd":"end"}
            """#,
            malformed: #"""
                []: expected a zone's changes, found an array
                {}: at syncToken: expected a string, found nothing
                records missing or null: reads as []
                records 5: expected an array of records, found the number 5
                records[0] null: expected a record, found null
                records[0] 5: expected a record, found the number 5
                records[0].recordName, records[0].recordType missing or null: expected a string, found nothing
                records[0].recordChangeTag, syncToken missing or null: expected a string, found nothing
                records[0].recordName, records[0].recordType {}: expected a string, found an object
                records[0].recordChangeTag, syncToken, clientChangeToken {}: expected a string, found an object
                nephosFetchEnd {}: expected a string, found an object
                records[0].fields missing or null: reads as {}
                records[0].fields 5: expected an object of fields, found the number 5
                records[0].pluginFields missing or null or 5: reads as {}
                records[0].deleted missing or null or {}: reads as false
                moreComing missing or null: reads as false
                moreComing {}: expected true or false, found an object
                """#)
    }
}
