import NephosWire
import Testing

/// The bytes and decoding errors of messages about shares and users.
struct RecordedSharingTests {
    @Test func `short GUIDs keep their bytes and errors`() throws {
        try expectRecorded(
            small: ShortGUIDsRequest(shortGUIDs: []), #"{"shortGUIDs":[]}"#,
            full: ShortGUIDsRequest(
                shortGUIDs: [
                    ShortGUIDsRequest.Item(
                        value: "guid", shouldFetchRootRecord: true, rootRecordDesiredKeys: ["title"]),
                    ShortGUIDsRequest.Item(value: "other"),
                ]),
            #"""
            {"shortGUIDs":[{"value":"guid","shouldFetchRootRecord":true,"rootRecordDesiredKeys":["title"]},\#
            {"value":"other","shouldFetchRootRecord":false}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at shortGUIDs: expected an array, found nothing
                shortGUIDs missing or null: expected an array, found nothing
                shortGUIDs 5: expected an array of short GUIDs, found the number 5
                shortGUIDs[0], shortGUIDs[0].rootRecordDesiredKeys[0] null: expected a string, found null
                shortGUIDs[0] 5: expected a string, found the number 5
                shortGUIDs[0].value missing or null: expected a string, found nothing
                shortGUIDs[0].value, shortGUIDs[0].rootRecordDesiredKeys[0] {}: expected a string, found an object
                shortGUIDs[0].shouldFetchRootRecord missing or null: reads as false
                shortGUIDs[0].shouldFetchRootRecord {}: expected true or false, found an object
                shortGUIDs[0].rootRecordDesiredKeys 5: expected an array of strings, found the number 5
                """#)
    }

    @Test func `information about shares keeps its bytes and errors`() throws {
        let info = RecordInfo(
            shortGUID: ShortGUIDsRequest.Item(value: "guid"), containerIdentifier: "iCloud.com.example",
            environment: "DEVELOPMENT", databaseScope: "SHARED", zoneID: Samples.zoneID, share: Samples.plainRecord,
            rootRecordName: "root", rootRecord: Samples.plainRecord, ownerIdentity: Samples.identity,
            participantRole: .privateUser, participantStatus: .pending, participantPermission: .readWrite)
        var plain = info
        plain.rootRecordName = nil
        plain.rootRecord = nil
        plain.ownerIdentity = UserIdentityDictionary()
        try expectRecorded(
            small: RecordInfosResponse(results: [.info(plain)]),
            #"""
            {"results":[{"shortGUID":{"value":"guid","shouldFetchRootRecord":false},\#
            "containerIdentifier":"iCloud.com.example","environment":"DEVELOPMENT","databaseScope":"SHARED",\#
            "zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"},\#
            "share":{"recordName":"A","recordType":"Artwork","recordChangeTag":"1","fields":{},\#
            "pluginFields":{},"deleted":false},"ancestorRecords":[],"ownerIdentity":{},\#
            "participantType":"PRIVATE_USER","participantStatus":"PENDING",\#
            "participantPermission":"READ_WRITE"}]}
            """#,
            full: RecordInfosResponse(results: [.info(info), .failure(Samples.failure)]),
            #"""
            {"results":[{"shortGUID":{"value":"guid","shouldFetchRootRecord":false},\#
            "containerIdentifier":"iCloud.com.example","environment":"DEVELOPMENT","databaseScope":"SHARED",\#
            "zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner","zoneType":"REGULAR_CUSTOM_ZONE"},\#
            "share":{"recordName":"A","recordType":"Artwork","recordChangeTag":"1","fields":{},\#
            "pluginFields":{},"deleted":false},"rootRecordName":"root","rootRecord":{"recordName":"A",\#
            "recordType":"Artwork","recordChangeTag":"1","fields":{},"pluginFields":{},"deleted":false},\#
            "ancestorRecords":[],"ownerIdentity":{"userRecordName":"_b",\#
            "lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"},"nephosHasAccount":true},\#
            "participantType":"PRIVATE_USER","participantStatus":"PENDING",\#
            "participantPermission":"READ_WRITE"},{"uuid":"u","serverErrorCode":"NOT_FOUND",\#
            "reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at results: expected an array, found nothing
                results missing or null: expected an array, found nothing
                results 5: expected an array of record infos, found the number 5
                results[0] null: expected a record info, found null
                results[0] 5: expected a record info, found the number 5
                results[0].shortGUID missing or null: expected a short GUID, found nothing
                results[0].shortGUID 5: expected a string, found the number 5
                results[0].shortGUID.value missing or null: expected a string, found nothing
                results[0].zoneID.zoneName missing or null: expected a string, found nothing
                results[0].share.recordName missing or null: expected a string, found nothing
                results[0].share.recordType missing or null: expected a string, found nothing
                results[0].share.recordChangeTag missing or null: expected a string, found nothing
                results[0].rootRecord.recordName missing or null: expected a string, found nothing
                results[0].rootRecord.recordType missing or null: expected a string, found nothing
                results[0].rootRecord.recordChangeTag missing or null: expected a string, found nothing
                results[0].shortGUID.value, results[0].containerIdentifier {}: expected a string, found an object
                results[0].environment, results[0].databaseScope {}: expected a string, found an object
                results[0].zoneID.zoneName {}: expected a string, found an object
                results[0].zoneID.ownerRecordName {}: expected a string, found an object
                results[0].share.recordName, results[0].share.recordType {}: expected a string, found an object
                results[0].share.recordChangeTag, results[0].rootRecordName {}: expected a string, found an object
                results[0].rootRecord.recordName {}: expected a string, found an object
                results[0].rootRecord.recordType {}: expected a string, found an object
                results[0].rootRecord.recordChangeTag {}: expected a string, found an object
                results[0].ownerIdentity.userRecordName {}: expected a string, found an object
                results[0].ownerIdentity.lookupInfo.emailAddress {}: expected a string, found an object
                results[0].ownerIdentity.lookupInfo.phoneNumber {}: expected a string, found an object
                results[0].ownerIdentity.lookupInfo.userRecordName {}: expected a string, found an object
                results[0].ownerIdentity.nameComponents.givenName {}: expected a string, found an object
                results[0].ownerIdentity.nameComponents.familyName {}: expected a string, found an object
                results[0].participantType, results[0].participantStatus {}: expected a string, found an object
                results[0].participantPermission {}: expected a string, found an object
                results[0].shortGUID.shouldFetchRootRecord missing or null: reads as false
                results[0].shortGUID.shouldFetchRootRecord {}: expected true or false, found an object
                results[0].ownerIdentity.nephosHasAccount {}: expected true or false, found an object
                results[0].containerIdentifier, results[0].environment missing or null: reads as ""
                results[0].databaseScope missing or null: reads as ""
                results[0].zoneID missing or null: expected a zone ID, found nothing
                results[0].zoneID 5: expected a zone ID, found the number 5
                results[0].zoneID.zoneType missing or null or {} or "?": reads as "REGULAR_CUSTOM_ZONE"
                results[0].share missing or null: expected a record, found nothing
                results[0].share, results[0].rootRecord 5: expected a record, found the number 5
                results[0].share.fields, results[0].rootRecord.fields missing or null: reads as {}
                results[0].ownerIdentity missing or null: reads as {}
                results[0].share.fields 5: expected an object of fields, found the number 5
                results[0].rootRecord.fields 5: expected an object of fields, found the number 5
                results[0].share.pluginFields missing or null or 5: reads as {}
                results[0].rootRecord.pluginFields missing or null or 5: reads as {}
                results[0].share.deleted, results[0].rootRecord.deleted missing or null or {}: reads as false
                results[0].ancestorRecords missing or null or 5: reads as []
                results[0].ownerIdentity 5: expected a user identity, found the number 5
                results[0].ownerIdentity.lookupInfo 5: expected a lookup info, found the number 5
                results[0].ownerIdentity.nameComponents 5: reads as nothing
                results[0].participantType, results[0].participantStatus missing or null: reads as "UNKNOWN"
                results[0].participantPermission missing or null: reads as "UNKNOWN"
                results[0].participantType, results[0].participantStatus "?": reads as "UNKNOWN"
                results[0].participantPermission "?": reads as "UNKNOWN"
                """#)
    }

    @Test func `the answer to access requests keeps its bytes and errors`() throws {
        try expectRecorded(
            small: AccessRequestsResponse(failures: [nil]), #"{"results":[{}]}"#,
            full: AccessRequestsResponse(failures: [Samples.failure, nil]),
            #"""
            {"results":[{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"},{}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at results: expected an array, found nothing
                results missing or null: expected an array, found nothing
                results 5: expected an array of results, found the number 5
                results[0] null or 5: reads as {}
                results[0].uuid, results[0].reason missing or null: reads as ""
                results[0].uuid, results[0].serverErrorCode {}: expected a string, found an object
                results[0].reason {}: expected a string, found an object
                results[0].serverErrorCode missing or null: reads as nothing
                results[0].serverErrorCode "?": reads as "INTERNAL_ERROR"
                """#)
    }

    @Test func `looked up participants keep their bytes and errors`() throws {
        try expectRecorded(
            small: ParticipantLookupResponse(users: [.user(UserIdentityDictionary())]), #"{"users":[{}]}"#,
            full: ParticipantLookupResponse(users: [.user(Samples.identity)]),
            #"""
            {"users":[{"userRecordName":"_b","lookupInfo":{"emailAddress":"b@example.com","phoneNumber":"+1",\#
            "userRecordName":"_b"},"nameComponents":{"givenName":"Bo","familyName":"Berg"},\#
            "nephosHasAccount":true}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at users: expected an array, found nothing
                users missing or null: expected an array, found nothing
                users 5: expected an array of user identities, found the number 5
                users[0] null: expected a user identity, found null
                users[0] 5: expected a user identity, found the number 5
                users[0].userRecordName, users[0].lookupInfo.emailAddress {}: expected a string, found an object
                users[0].lookupInfo.phoneNumber {}: expected a string, found an object
                users[0].lookupInfo.userRecordName {}: expected a string, found an object
                users[0].nameComponents.givenName {}: expected a string, found an object
                users[0].nameComponents.familyName {}: expected a string, found an object
                users[0].lookupInfo 5: expected a lookup info, found the number 5
                users[0].nameComponents 5: reads as nothing
                users[0].nephosHasAccount {}: expected true or false, found an object
                """#)
    }

    @Test func `a request for users keeps its bytes and errors`() throws {
        try expectRecorded(
            small: UserLookupRequest(), #"{}"#,
            full: UserLookupRequest(
                lookupInfos: [
                    UserLookupRequest.LookupInfo(
                        emailAddress: "b@example.com", phoneNumber: "+1", userRecordName: "_b"),
                    UserLookupRequest.LookupInfo(emailAddress: "c@example.com"),
                ]),
            #"""
            {"lookupInfos":[{"emailAddress":"b@example.com","phoneNumber":"+1","userRecordName":"_b"},\#
            {"emailAddress":"c@example.com"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                lookupInfos 5: expected an array of lookup infos, found the number 5
                lookupInfos[0] null: expected a lookup info, found null
                lookupInfos[0] 5: expected a lookup info, found the number 5
                lookupInfos[0].emailAddress, lookupInfos[0].phoneNumber {}: expected a string, found an object
                lookupInfos[0].userRecordName {}: expected a string, found an object
                """#)
    }

    @Test func `users keep their bytes and errors`() throws {
        let user = UserDictionary(userRecordName: "_b", firstName: "Bo", lastName: "Berg")
        try expectRecorded(
            small: UserDictionary(userRecordName: "_b"), #"{"userRecordName":"_b"}"#, full: user,
            #"""
            {"userRecordName":"_b","firstName":"Bo","lastName":"Berg","nameComponents":{"givenName":"Bo",\#
            "familyName":"Berg"}}
            """#,
            malformed: #"""
                []: expected a user, found an array
                {}: at userRecordName: expected a string, found nothing
                userRecordName missing or null: expected a string, found nothing
                userRecordName, firstName, lastName {}: expected a string, found an object
                firstName missing or null: reads as "Bo"
                lastName missing or null: reads as "Berg"
                nameComponents missing or null: reads as {"givenName":"Bo","familyName":"Berg"}
                nameComponents 5: expected a dictionary of name components, found the number 5
                nameComponents.givenName missing or null or {} or "?": reads as "Bo"
                nameComponents.familyName missing or null or {} or "?": reads as "Berg"
                """#)
        try expectRecorded(
            small: UsersResponse(users: []), #"{"users":[]}"#, full: UsersResponse(users: [user]),
            #"""
            {"users":[{"userRecordName":"_b","firstName":"Bo","lastName":"Berg",\#
            "nameComponents":{"givenName":"Bo","familyName":"Berg"}}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at users: expected an array, found nothing
                users missing or null: expected an array, found nothing
                users 5: expected an array of users, found the number 5
                users[0] null: expected a user, found null
                users[0] 5: expected a user, found the number 5
                users[0].userRecordName missing or null: expected a string, found nothing
                users[0].userRecordName, users[0].firstName {}: expected a string, found an object
                users[0].lastName {}: expected a string, found an object
                users[0].firstName missing or null: reads as "Bo"
                users[0].lastName missing or null: reads as "Berg"
                users[0].nameComponents missing or null: reads as {"givenName":"Bo","familyName":"Berg"}
                users[0].nameComponents 5: expected a dictionary of name components, found the number 5
                users[0].nameComponents.givenName missing or null or {} or "?": reads as "Bo"
                users[0].nameComponents.familyName missing or null or {} or "?": reads as "Berg"
                """#)
    }
}
