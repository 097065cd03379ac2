import NephosWire
import Testing

/// The bytes and decoding errors of messages about records and errors.
struct RecordedRecordTests {
    @Test func `a request that modifies records keeps its bytes and errors`() throws {
        var record = RecordToModify(
            recordName: "A", recordType: "Artwork", recordChangeTag: "1f", zoneID: Samples.zoneID,
            fields: Samples.fields, parent: .set(Samples.reference), createShortGUID: true)
        record.keys = [Samples.recordKey]
        record.keep = ["image"]
        var share = RecordToModify(
            recordName: "share", recordType: RecordDictionary.shareType, parent: .clear,
            share: ShareToModify(
                forRecord: ShareToModify.Root(recordName: "root", recordChangeTag: "2"), publicPermission: .readOnly,
                participants: [Samples.participant], deniesAccessRequests: true, requesters: [Samples.identity],
                blocked: [Samples.identity]))
        share.share?.signedParticipants = [5]
        var request = ModifyRecordsRequest(
            operations: [
                RecordOperation(
                    operationType: .forceUpdate, record: record, desiredKeys: ["title"], numbersAsStrings: true),
                RecordOperation(operationType: .create, record: share),
            ],
            zoneID: Samples.zoneID, atomic: false, desiredKeys: ["year"], numbersAsStrings: true,
            wantsServerRecord: true, clientChangeToken: "QUJD")
        request.lacksKeys = true
        request.requestKey = "key-1"
        try expectRecorded(
            small: ModifyRecordsRequest(operations: []), #"{"operations":[]}"#, full: request,
            #"""
            {"operations":[{"operationType":"forceUpdate","record":{"recordName":"A","recordType":"Artwork",\#
            "recordChangeTag":"1f","zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},\#
            "fields":{"title":{"value":"Grün \"1\"","type":"STRING"},"year":{"value":1932,"type":"INT64"}},\#
            "parent":{"recordName":"root","zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"}},\#
            "createShortGUID":true,"nephosKeys":[{"id":"AQID","group":"share","version":2,"wrapped":"BA==",\#
            "inherited":true,"spent":true,"groupKey":"BQ=="}],"nephosKeep":["image"]},"desiredKeys":["title"],\#
            "numbersAsStrings":true},{"operationType":"create","record":{"recordName":"share",\#
            "recordType":"cloudkit.share","parent":null,"forRecord":{"recordName":"root",\#
            "recordChangeTag":"2"},"publicPermission":"READ_ONLY","participants":[{"participantId":"p",\#
            "userIdentity":{"userRecordName":"_b","lookupInfo":{"emailAddress":"b@example.com",\#
            "phoneNumber":"+1","userRecordName":"_b"},"nameComponents":{"givenName":"Bo","familyName":"Berg"},\#
            "nephosHasAccount":true},"type":"ADMINISTRATOR","permission":"READ_WRITE",\#
            "acceptanceStatus":"ACCEPTED","isApprovedRequester":true,"nephosDateAdded":3000,\#
            "nephosOneTimeGUID":"once"}],"denyAccessRequests":true,"requesters":[{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true}],\#
            "blocked":[{"userRecordName":"_b","lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1",\#
            "userRecordName":"_b"},"nameComponents":{"givenName":"Bo","familyName":"Berg"},\#
            "nephosHasAccount":true}],"nephosParticipants":"BQ=="}}],"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},\#
            "desiredKeys":["year"],"numbersAsStrings":true,"atomic":false,"nephosServerRecord":true,\#
            "nephosLacksKeys":true,"clientChangeToken":"QUJD","nephosRequestKey":"key-1"}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at operations: expected an array of operations, found nothing
                operations missing or null: expected an array of operations, found nothing
                operations 5: expected an array of operations, found the number 5
                operations[0] null: expected an operation, found null
                operations[0] 5: expected an operation, found the number 5
                operations[0].operationType missing or null: expected one of create, update, forceUpdate, replace, \#
                forceReplace, delete, forceDelete, found nothing
                operations[0].operationType {}: expected one of create, update, forceUpdate, replace, forceReplace, \#
                delete, forceDelete, found an object
                operations[0].operationType "?": expected one of create, update, forceUpdate, replace, forceReplace, \#
                delete, forceDelete, found the string "?"
                operations[0].record missing or null: expected a record, found nothing
                operations[0].record 5: expected a record, found the number 5
                operations[0].record.recordName, operations[0].record.recordType missing or null: reads as nothing
                operations[0].record.recordChangeTag missing or null: reads as nothing
                operations[0].record.zoneID missing or null: reads as nothing
                operations[0].record.zoneID.ownerRecordName missing or null: reads as nothing
                operations[0].record.fields missing or null: reads as nothing
                operations[0].record.fields.title.type missing or null: reads as nothing
                operations[0].record.fields.year.type missing or null: reads as nothing
                operations[0].record.parent.zoneID missing or null: reads as nothing
                operations[0].record.parent.zoneID.ownerRecordName missing or null: reads as nothing
                operations[0].record.createShortGUID missing or null: reads as nothing
                operations[0].record.nephosKeys missing or null: reads as nothing
                operations[0].record.nephosKeys[0].group missing or null: reads as nothing
                operations[0].record.nephosKeys[0].inherited missing or null: reads as nothing
                operations[0].record.nephosKeys[0].spent missing or null: reads as nothing
                operations[0].record.nephosKeys[0].groupKey missing or null: reads as nothing
                operations[0].record.nephosKeep, operations[0].desiredKeys missing or null: reads as nothing
                operations[0].numbersAsStrings, zoneID, zoneID.ownerRecordName missing or null: reads as nothing
                desiredKeys, numbersAsStrings, atomic, nephosServerRecord missing or null: reads as nothing
                nephosLacksKeys, clientChangeToken, nephosRequestKey missing or null: reads as nothing
                operations[0].record.recordName {}: expected a string, found an object
                operations[0].record.recordType {}: expected a string, found an object
                operations[0].record.recordChangeTag {}: expected a string, found an object
                operations[0].record.zoneID.zoneName {}: expected a string, found an object
                operations[0].record.zoneID.ownerRecordName {}: expected a string, found an object
                operations[0].record.parent.recordName {}: expected a string, found an object
                operations[0].record.parent.zoneID.zoneName {}: expected a string, found an object
                operations[0].record.parent.zoneID.ownerRecordName {}: expected a string, found an object
                operations[0].record.nephosKeys[0].group {}: expected a string, found an object
                operations[0].record.nephosKeep[0] {}: expected a string, found an object
                operations[0].desiredKeys[0], zoneID.zoneName {}: expected a string, found an object
                zoneID.ownerRecordName, desiredKeys[0], clientChangeToken {}: expected a string, found an object
                nephosRequestKey {}: expected a string, found an object
                operations[0].record.zoneID 5: expected a zone ID, found the number 5
                operations[0].record.parent.zoneID, zoneID 5: expected a zone ID, found the number 5
                operations[0].record.zoneID.zoneName missing or null: expected a string, found nothing
                operations[0].record.parent.recordName missing or null: expected a string, found nothing
                operations[0].record.parent.zoneID.zoneName missing or null: expected a string, found nothing
                zoneID.zoneName missing or null: expected a string, found nothing
                operations[0].record.fields 5: expected an object of fields, found the number 5
                operations[0].record.fields.title, operations[0].record.fields.year missing: reads as nothing
                operations[0].record.parent missing: reads as nothing
                operations[0].record.fields.title, operations[0].record.fields.year null: reads as {"value":null}
                operations[0].record.fields.title 5: field 'title', expected a dictionary with the key "value", \#
                found the number 5
                operations[0].record.fields.title.value missing: reads as null
                operations[0].record.fields.year.value missing: reads as null
                operations[0].record.fields.title.value {}: field 'title', declared STRING: expected a string, found \#
                an object
                operations[0].record.fields.title.type {}: field 'title', expected a field type (STRING, INT64, \#
                DOUBLE, BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                operations[0].record.fields.title.type "?": field 'title', expected a field type (STRING, INT64, \#
                DOUBLE, BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string \#
                "?"
                operations[0].record.fields.year 5: field 'year', expected a dictionary with the key "value", found \#
                the number 5
                operations[0].record.fields.year.value {}: field 'year', declared INT64: expected an integer, found \#
                an object
                operations[0].record.fields.year.type {}: field 'year', expected a field type (STRING, INT64, \#
                DOUBLE, BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                operations[0].record.fields.year.type "?": field 'year', expected a field type (STRING, INT64, \#
                DOUBLE, BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string \#
                "?"
                operations[0].record.parent 5: expected a reference, found the number 5
                operations[0].record.createShortGUID {}: expected true or false, found an object
                operations[0].record.nephosKeys[0].inherited {}: expected true or false, found an object
                operations[0].record.nephosKeys[0].spent {}: expected true or false, found an object
                operations[0].numbersAsStrings, numbersAsStrings {}: expected true or false, found an object
                atomic, nephosServerRecord, nephosLacksKeys {}: expected true or false, found an object
                operations[0].record.nephosKeys 5: expected an array of keys, found the number 5
                operations[0].record.nephosKeys[0] null: expected an object, found null
                operations[0].record.nephosKeys[0] 5: expected an object, found the number 5
                operations[0].record.nephosKeys[0].id missing or null: expected a base64 string, found nothing
                operations[0].record.nephosKeys[0].wrapped missing or null: expected a base64 string, found nothing
                operations[0].record.nephosKeys[0].id {}: expected a base64 string, found an object
                operations[0].record.nephosKeys[0].wrapped {}: expected a base64 string, found an object
                operations[0].record.nephosKeys[0].groupKey {}: expected a base64 string, found an object
                operations[0].record.nephosKeys[0].id "?": expected a base64 string, found the string "?"
                operations[0].record.nephosKeys[0].wrapped "?": expected a base64 string, found the string "?"
                operations[0].record.nephosKeys[0].groupKey "?": expected a base64 string, found the string "?"
                operations[0].record.nephosKeys[0].version missing or null: expected an integer, found nothing
                operations[0].record.nephosKeys[0].version {}: expected an integer, found an object
                operations[0].record.nephosKeep 5: expected an array of strings, found the number 5
                operations[0].desiredKeys, desiredKeys 5: expected an array of strings, found the number 5
                operations[0].record.nephosKeep[0] null: expected a string, found null
                operations[0].desiredKeys[0], desiredKeys[0] null: expected a string, found null
                """#)
    }

    @Test func `a request that looks up records keeps its bytes and errors`() throws {
        try expectRecorded(
            small: LookupRecordsRequest(records: []), #"{"records":[]}"#,
            full: LookupRecordsRequest(
                records: [
                    LookupRecordsRequest.Item(recordName: "A", zoneID: Samples.zoneID, desiredKeys: ["title"]),
                    LookupRecordsRequest.Item(recordName: "B"),
                ], zoneID: Samples.zoneID, desiredKeys: ["year"], numbersAsStrings: true),
            #"""
            {"records":[{"recordName":"A","zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},\#
            "desiredKeys":["title"]},{"recordName":"B"}],"zoneID":{"zoneName":"Gallery",\#
            "ownerRecordName":"_owner"},"desiredKeys":["year"],"numbersAsStrings":true}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at records: expected an array of records, found nothing
                records missing or null: expected an array of records, found nothing
                records 5: expected an array of records, found the number 5
                records[0] null: expected a dictionary with the key "recordName", found null
                records[0] 5: expected a dictionary with the key "recordName", found the number 5
                records[0].recordName missing or null: expected a string, found nothing
                records[0].zoneID.zoneName, zoneID.zoneName missing or null: expected a string, found nothing
                records[0].recordName, records[0].zoneID.zoneName {}: expected a string, found an object
                records[0].zoneID.ownerRecordName {}: expected a string, found an object
                records[0].desiredKeys[0], zoneID.zoneName {}: expected a string, found an object
                zoneID.ownerRecordName, desiredKeys[0] {}: expected a string, found an object
                records[0].zoneID, zoneID 5: expected a zone ID, found the number 5
                records[0].desiredKeys, desiredKeys 5: expected an array of strings, found the number 5
                records[0].desiredKeys[0], desiredKeys[0] null: expected a string, found null
                numbersAsStrings {}: expected true or false, found an object
                """#)
    }

    @Test func `an answer with records keeps its bytes and errors`() throws {
        let records: [RecordResult] = [
            .record(Samples.record), .record(Samples.share),
            .deleted(DeletedRecord(recordName: "B", recordType: "Artwork", zoneID: Samples.zoneID)),
            .failure(Samples.failure),
        ]
        var answer = RecordsResponse(records: records)
        answer.syncToken = "token"
        // The encoder writes it for other clients; the decoder ignores it.
        try expectRecorded(
            small: RecordsResponse(records: [.record(Samples.plainRecord)]),
            #"""
            {"records":[{"recordName":"A","recordType":"Artwork","recordChangeTag":"1","fields":{},\#
            "pluginFields":{},"deleted":false}]}
            """#, full: answer,
            #"""
            {"records":[{"recordName":"A","recordType":"Artwork","recordChangeTag":"1f",\#
            "fields":{"title":{"value":"Grün \"1\"","type":"STRING"},"year":{"value":1932,"type":"INT64"}},\#
            "pluginFields":{},"deleted":false,"created":{"timestamp":1000,"userRecordName":"_a",\#
            "deviceID":"2"},"modified":{"timestamp":2000,"userRecordName":"_b","deviceID":"2"},\#
            "zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"},\#
            "parent":{"recordName":"root","zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"}},\#
            "share":{"recordName":"root","zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"}},\#
            "shortGUID":"guid"},{"recordName":"share","recordType":"cloudkit.share","recordChangeTag":"2",\#
            "fields":{},"pluginFields":{},"deleted":false,"shortGUID":"guid","publicPermission":"READ_ONLY",\#
            "participants":[{"participantId":"p","userIdentity":{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true},\#
            "type":"ADMINISTRATOR","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED",\#
            "isApprovedRequester":true,"nephosDateAdded":3000,"nephosOneTimeGUID":"once"}],\#
            "owner":{"participantId":"p","userIdentity":{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true},\#
            "type":"ADMINISTRATOR","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED",\#
            "isApprovedRequester":true,"nephosDateAdded":3000,"nephosOneTimeGUID":"once"},\#
            "currentUserParticipant":{"participantId":"p","userIdentity":{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true},\#
            "type":"ADMINISTRATOR","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED",\#
            "isApprovedRequester":true,"nephosDateAdded":3000,"nephosOneTimeGUID":"once"},\#
            "denyAccessRequests":false,"requesters":[{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true}],\#
            "blocked":[{"userRecordName":"_b","lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1",\#
            "userRecordName":"_b"},"nameComponents":{"givenName":"Bo","familyName":"Berg"},\#
            "nephosHasAccount":true}],"nephosRootRecordName":"root","nephosHasKeys":true,\#
            "nephosWantsKeys":true},{"recordName":"B","deleted":true,"recordType":"Artwork",\#
            "zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"}},\#
            {"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}],"syncToken":"token"}
            """#,
            decoded: RecordsResponse(records: records),
            malformed: #"""
                []: expected an object, found an array
                {}: at records: expected an array, found nothing
                records missing or null: expected an array, found nothing
                records 5: expected an array of records, found the number 5
                records[0] null: expected a record, found null
                records[0] 5: expected a record, found the number 5
                records[0].recordName, records[0].recordType missing or null: expected a string, found nothing
                records[0].recordChangeTag missing or null: expected a string, found nothing
                records[0].zoneID.zoneName missing or null: expected a string, found nothing
                records[0].parent.recordName missing or null: expected a string, found nothing
                records[0].parent.zoneID.zoneName missing or null: expected a string, found nothing
                records[0].share.recordName missing or null: expected a string, found nothing
                records[0].share.zoneID.zoneName missing or null: expected a string, found nothing
                records[0].recordName, records[0].recordType {}: expected a string, found an object
                records[0].recordChangeTag {}: expected a string, found an object
                records[0].created.userRecordName {}: expected a string, found an object
                records[0].created.deviceID {}: expected a string, found an object
                records[0].modified.userRecordName {}: expected a string, found an object
                records[0].modified.deviceID, records[0].zoneID.zoneName {}: expected a string, found an object
                records[0].zoneID.ownerRecordName {}: expected a string, found an object
                records[0].parent.recordName {}: expected a string, found an object
                records[0].parent.zoneID.zoneName {}: expected a string, found an object
                records[0].parent.zoneID.ownerRecordName {}: expected a string, found an object
                records[0].share.recordName {}: expected a string, found an object
                records[0].share.zoneID.zoneName {}: expected a string, found an object
                records[0].share.zoneID.ownerRecordName {}: expected a string, found an object
                records[0].shortGUID {}: expected a string, found an object
                records[0].fields missing or null: reads as {}
                records[0].fields 5: expected an object of fields, found the number 5
                records[0].fields.title, records[0].fields.title.value missing or null: reads as nothing
                records[0].fields.year, records[0].fields.year.value missing or null: reads as nothing
                records[0].created, records[0].created.deviceID missing or null: reads as nothing
                records[0].modified, records[0].modified.deviceID missing or null: reads as nothing
                records[0].zoneID, records[0].zoneID.ownerRecordName missing or null: reads as nothing
                records[0].parent, records[0].parent.zoneID missing or null: reads as nothing
                records[0].parent.zoneID.ownerRecordName, records[0].share missing or null: reads as nothing
                records[0].share.zoneID, records[0].share.zoneID.ownerRecordName missing or null: reads as nothing
                records[0].shortGUID missing or null: reads as nothing
                records[0].fields.title 5: field 'title', expected a dictionary with the key "value", found the \#
                number 5
                records[0].fields.title.value {}: field 'title', declared STRING: expected a string, found an object
                records[0].fields.title.type missing or null: reads as "STRING"
                records[0].fields.title.type {}: field 'title', expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                records[0].fields.title.type "?": field 'title', expected a field type (STRING, INT64, DOUBLE, \#
                BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                records[0].fields.year 5: field 'year', expected a dictionary with the key "value", found the number 5
                records[0].fields.year.value {}: field 'year', declared INT64: expected an integer, found an object
                records[0].fields.year.type missing or null: reads as "INT64"
                records[0].fields.year.type {}: field 'year', expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                records[0].fields.year.type "?": field 'year', expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                records[0].pluginFields missing or null or 5: reads as {}
                records[0].deleted missing or null or {}: reads as false
                records[0].created 5: expected a dictionary with the key "timestamp", found the number 5
                records[0].modified 5: expected a dictionary with the key "timestamp", found the number 5
                records[0].created.timestamp missing or null: expected a date in whole milliseconds, found nothing
                records[0].modified.timestamp missing or null: expected a date in whole milliseconds, found nothing
                records[0].created.timestamp {}: expected a date in whole milliseconds, found an object
                records[0].modified.timestamp {}: expected a date in whole milliseconds, found an object
                records[0].created.userRecordName, records[0].modified.userRecordName missing or null: reads as ""
                records[0].zoneID, records[0].parent.zoneID 5: expected a zone ID, found the number 5
                records[0].share.zoneID 5: expected a zone ID, found the number 5
                records[0].zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                records[0].parent, records[0].share 5: expected a reference, found the number 5
                syncToken {} or "?": reads as nothing
                """#)
    }

    @Test func `an error keeps its bytes and errors`() throws {
        try expectRecorded(
            small: Samples.failure, #"{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}"#,
            full: Samples.error,
            #"""
            {"uuid":"u","serverErrorCode":"CONFLICT","reason":"changed","retryAfter":1.5,\#
            "redirectURL":"https://example.com","recordName":"A","zoneID":{"zoneName":"Gallery",\#
            "ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"},"subscriptionID":"S",\#
            "nephosErrorCode":14,"nephosUserDidResetEncryptedData":true,"nephosNeedsKeys":true,\#
            "nephosKeyGroup":"share","nephosNeedsFile":true,"nephosDuplicateOf":"T","serverRecord":{"recordName":"A",\#
            "recordType":"Artwork","recordChangeTag":"1","fields":{},"pluginFields":{},"deleted":false}}
            """#,
            malformed: #"""
                []: expected an error, found an array
                {}: at serverErrorCode: expected a string, found nothing
                uuid, reason missing or null: reads as ""
                uuid, serverErrorCode, reason, redirectURL, recordName {}: expected a string, found an object
                zoneID.zoneName, zoneID.ownerRecordName, subscriptionID {}: expected a string, found an object
                nephosKeyGroup, nephosDuplicateOf, serverRecord.recordName {}: expected a string, found an object
                serverRecord.recordType, serverRecord.recordChangeTag {}: expected a string, found an object
                serverErrorCode, zoneID.zoneName missing or null: expected a string, found nothing
                serverRecord.recordName, serverRecord.recordType missing or null: expected a string, found nothing
                serverRecord.recordChangeTag missing or null: expected a string, found nothing
                serverErrorCode "?": reads as "INTERNAL_ERROR"
                retryAfter {}: expected a number, found an object
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                nephosErrorCode {}: expected an integer, found an object
                nephosUserDidResetEncryptedData, nephosNeedsKeys {}: expected true or false, found an object
                nephosNeedsFile {}: expected true or false, found an object
                serverRecord 5: expected a record, found the number 5
                serverRecord.fields missing or null: reads as {}
                serverRecord.fields 5: expected an object of fields, found the number 5
                serverRecord.pluginFields missing or null or 5: reads as {}
                serverRecord.deleted missing or null or {}: reads as false
                """#)
    }

    @Test func `a request without a message keeps its bytes`() throws {
        try expectRecorded(small: EmptyRequest(), #"{}"#, full: EmptyRequest(), #"{}"#, malformed: "")
    }
}
