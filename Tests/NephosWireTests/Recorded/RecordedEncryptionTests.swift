import NephosWire
import Testing

/// The bytes and decoding errors of messages about encryption keys.
struct RecordedEncryptionTests {
    @Test func `a record's key keeps its bytes and errors`() throws {
        try expectRecorded(
            small: WrappedRecordKey(id: [1], version: 1, wrapped: []), #"{"id":"AQ==","version":1,"wrapped":""}"#,
            full: Samples.recordKey,
            #"""
            {"id":"AQID","group":"share","version":2,"wrapped":"BA==","inherited":true,"spent":true,\#
            "groupKey":"BQ=="}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at id: expected a base64 string, found nothing
                id, wrapped missing or null: expected a base64 string, found nothing
                id, wrapped, groupKey {}: expected a base64 string, found an object
                id, wrapped, groupKey "?": expected a base64 string, found the string "?"
                group {}: expected a string, found an object
                version missing or null: expected an integer, found nothing
                version {}: expected an integer, found an object
                inherited, spent {}: expected true or false, found an object
                """#)
    }

    @Test func `a group's key keeps its bytes and errors`() throws {
        try expectRecorded(
            small: WrappedGroupKey(version: 1, recipient: [], box: [], previous: [], signer: [], signature: []),
            #"{"version":1,"recipient":"","box":"","previous":"","signer":"","signature":""}"#,
            full: Samples.groupKey,
            #"""
            {"version":2,"recipient":"AQ==","box":"AgM=","previous":"BA==","signer":"BQ==","signature":"Bg==",\#
            "administrators":["Bw==","CA=="]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at version: expected an integer, found nothing
                version missing or null: expected an integer, found nothing
                version {}: expected an integer, found an object
                recipient, box, previous, signer missing or null: expected a base64 string, found nothing
                signature missing or null: expected a base64 string, found nothing
                recipient, box, previous, signer, signature {}: expected a base64 string, found an object
                administrators[0] {}: expected a base64 string, found an object
                recipient, box, previous, signer, signature "?": expected a base64 string, found the string "?"
                administrators[0] "?": expected a base64 string, found the string "?"
                administrators 5: expected an array, found the number 5
                administrators[0] null: expected a base64 string, found null
                """#)
    }

    @Test func `an account key's box keeps its bytes and errors`() throws {
        try expectRecorded(
            small: AccountKeyBox(device: [], version: 1, box: []), #"{"device":"","version":1,"box":""}"#,
            full: AccountKeyBox(device: [1, 2], version: 3, box: [4]), #"{"device":"AQI=","version":3,"box":"BA=="}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at device: expected a base64 string, found nothing
                device, box missing or null: expected a base64 string, found nothing
                device, box {}: expected a base64 string, found an object
                device, box "?": expected a base64 string, found the string "?"
                version missing or null: expected an integer, found nothing
                version {}: expected an integer, found an object
                """#)
    }

    @Test func `a device's message keeps its bytes and errors`() throws {
        try expectRecorded(
            small: DeviceMessage(id: [1]), #"{"id":"AQ=="}"#, full: DeviceMessage(id: [1], request: [2], reply: [3]),
            #"{"id":"AQ==","request":"Ag==","reply":"Aw=="}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at id: expected a base64 string, found nothing
                id missing or null: expected a base64 string, found nothing
                id, request, reply {}: expected a base64 string, found an object
                id, request, reply "?": expected a base64 string, found the string "?"
                """#)
    }

    @Test func `a link's keys keep their bytes and errors`() throws {
        try expectRecorded(
            small: WrappedLink(version: 1, key: [], secret: []), #"{"version":1,"key":"","secret":""}"#,
            full: Samples.link, #"{"version":2,"key":"AQ==","secret":"Ag=="}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at version: expected an integer, found nothing
                version missing or null: expected an integer, found nothing
                version {}: expected an integer, found an object
                key, secret missing or null: expected a base64 string, found nothing
                key, secret {}: expected a base64 string, found an object
                key, secret "?": expected a base64 string, found the string "?"
                """#)
    }

    @Test func `a signer keeps its bytes and errors`() throws {
        try expectRecorded(
            small: GroupSigner(userRecordName: "_a", entries: []), #"{"userRecordName":"_a","entries":[]}"#,
            full: GroupSigner(userRecordName: "_a", entries: [[1], [2]]),
            #"{"userRecordName":"_a","entries":["AQ==","Ag=="]}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at userRecordName: expected a string, found nothing
                userRecordName missing or null: expected a string, found nothing
                userRecordName {}: expected a string, found an object
                entries missing or null: expected an array, found nothing
                entries 5: expected an array, found the number 5
                entries[0] null: expected a base64 string, found null
                entries[0] {}: expected a base64 string, found an object
                entries[0] "?": expected a base64 string, found the string "?"
                """#)
    }

    @Test func `requests without members keep their bytes`() throws {
        try expectRecorded(small: EmptyKeysRequest(), #"{}"#, full: EmptyKeysRequest(), #"{}"#, malformed: "")
    }

    @Test func `a request to enroll a device keeps its bytes and errors`() throws {
        try expectRecorded(
            small: EnrollRequest(position: 0, entry: []), #"{"position":0,"entry":"","boxes":[]}"#,
            full: EnrollRequest(
                position: 2, entry: [1], boxes: [AccountKeyBox(device: [1], version: 1, box: [2])], escrow: [3],
                message: DeviceMessage(id: [1])),
            #"""
            {"position":2,"entry":"AQ==","boxes":[{"device":"AQ==","version":1,"box":"Ag=="}],"escrow":"Aw==",\#
            "message":{"id":"AQ=="}}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at position: expected an integer, found nothing
                position, boxes[0].version missing or null: expected an integer, found nothing
                position, boxes[0].version {}: expected an integer, found an object
                entry, boxes[0].device, boxes[0].box missing or null: expected a base64 string, found nothing
                message.id missing or null: expected a base64 string, found nothing
                entry, boxes[0].device, boxes[0].box, escrow {}: expected a base64 string, found an object
                message.id {}: expected a base64 string, found an object
                entry, boxes[0].device, boxes[0].box, escrow "?": expected a base64 string, found the string "?"
                message.id "?": expected a base64 string, found the string "?"
                boxes missing or null: reads as []
                boxes 5: expected an array of boxes, found the number 5
                boxes[0] null: expected an object, found null
                boxes[0], message 5: expected an object, found the number 5
                """#)
    }

    @Test func `an account's keys keep their bytes and errors`() throws {
        var answer = AccountKeysResponse(
            escrows: true, escrow: [1], entries: [[2], [3]], boxes: [AccountKeyBox(device: [1], version: 1, box: [2])])
        answer.messages = [DeviceMessage(id: [1])]
        try expectRecorded(
            small: AccountKeysResponse(escrows: false), #"{"escrows":false,"entries":[],"boxes":[]}"#, full: answer,
            #"""
            {"escrows":true,"escrow":"AQ==","entries":["Ag==","Aw=="],"boxes":[{"device":"AQ==","version":1,\#
            "box":"Ag=="}],"messages":[{"id":"AQ=="}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                escrows missing or null: reads as false
                escrows {}: expected true or false, found an object
                escrow, entries[0], boxes[0].device, boxes[0].box {}: expected a base64 string, found an object
                messages[0].id {}: expected a base64 string, found an object
                escrow, entries[0], boxes[0].device "?": expected a base64 string, found the string "?"
                boxes[0].box, messages[0].id "?": expected a base64 string, found the string "?"
                entries, boxes missing or null: reads as []
                entries 5: expected an array, found the number 5
                entries[0] null: expected a base64 string, found null
                boxes 5: expected an array of boxes, found the number 5
                boxes[0], messages[0] null: expected an object, found null
                boxes[0], messages[0] 5: expected an object, found the number 5
                boxes[0].device, boxes[0].box missing or null: expected a base64 string, found nothing
                messages[0].id missing or null: expected a base64 string, found nothing
                boxes[0].version missing or null: expected an integer, found nothing
                boxes[0].version {}: expected an integer, found an object
                messages 5: expected an array of messages, found the number 5
                """#)
    }

    @Test func `a request for keys keeps its bytes and errors`() throws {
        var request = LookupKeysRequest(
            zoneID: Samples.zoneID, group: "share", wantsGroup: true, wantsMembers: true, missingBelow: ["root"],
            recordNames: ["A"])
        request.wantsLeft = true
        try expectRecorded(
            small: LookupKeysRequest(zoneID: nil, wantsGroup: false), #"{"wantsGroup":false,"recordNames":[]}"#,
            full: request,
            #"""
            {"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"group":"share","wantsGroup":true,\#
            "wantsMembers":true,"missingBelow":["root"],"wantsLeft":true,"recordNames":["A"]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneName missing or null: expected a string, found nothing
                zoneID.zoneName, zoneID.ownerRecordName, group {}: expected a string, found an object
                missingBelow[0], recordNames[0] {}: expected a string, found an object
                wantsGroup missing or null: reads as false
                wantsGroup, wantsMembers, wantsLeft {}: expected true or false, found an object
                missingBelow, recordNames 5: expected an array of strings, found the number 5
                missingBelow[0], recordNames[0] null: expected a string, found null
                recordNames missing or null: reads as []
                """#)
    }

    private var recordKeys: [KeysResponse.Record] {
        [KeysResponse.Record(recordName: "A", keys: [WrappedRecordKey(id: [1], version: 1, wrapped: [2])])]
    }

    @Test func `keys keep their bytes and errors`() throws {
        var answer = KeysResponse(group: [Samples.groupKey], records: recordKeys)
        answer.boxes = [Samples.groupKey]
        answer.link = Samples.link
        answer.oneTimeLinks = [Samples.oneTimeLink]
        answer.signers = [GroupSigner(userRecordName: "_a", entries: [[1]])]
        answer.ownerEntries = [[1], [2]]
        var member = KeysResponse.Member(userRecordName: "_b", entries: [[3]], recipient: [4])
        member.isAdministrator = true
        member.oneTimeID = "once"
        (member.participantID, member.joinedByURL) = ("p", true)
        answer.members = [member, KeysResponse.Member(userRecordName: "", entries: [], recipient: [])]
        answer.isPerZone = true
        answer.isShared = true
        answer.wantsLink = true
        answer.isStale = true
        answer.attention = 4
        answer.hasLeft = true
        (answer.participants, answer.unsigned, answer.isOpen) = ([5], ["p"], true)
        answer.hasMore = true
        try expectRecorded(
            small: KeysResponse(), #"{"group":[],"records":[]}"#, full: answer,
            #"""
            {"group":[{"version":2,"recipient":"AQ==","box":"AgM=","previous":"BA==","signer":"BQ==",\#
            "signature":"Bg==","administrators":["Bw==","CA=="]}],"boxes":[{"version":2,"recipient":"AQ==",\#
            "box":"AgM=","previous":"BA==","signer":"BQ==","signature":"Bg==","administrators":["Bw==",\#
            "CA=="]}],"link":{"version":2,"key":"AQ==","secret":"Ag=="},"oneTimeLinks":[{"participantId":"p",\#
            "link":{"version":2,"key":"AQ==","secret":"Ag=="}}],"signers":[{"userRecordName":"_a",\#
            "entries":["AQ=="]}],"ownerEntries":["AQ==","Ag=="],"members":[{"userRecordName":"_b",\#
            "entries":["Aw=="],"recipient":"BA==","administrator":true,"oneTimeId":"once","participantId":"p",\#
            "joinedByUrl":true},\#
            {"userRecordName":"","entries":[],"recipient":""}],"perZone":true,"shared":true,"wantsLink":true,\#
            "stale":true,"attention":4,"left":true,"participants":"BQ==","unsigned":["p"],"open":true,"records":[{"recordName":"A","keys":[{"id":"AQ==",\#
            "version":1,"wrapped":"Ag=="}]}],"hasMore":true}
            """#,
            malformed: #"""
                []: expected an object, found an array
                group, records missing or null: reads as []
                group, boxes, records[0].keys 5: expected an array of keys, found the number 5
                group[0], boxes[0], oneTimeLinks[0], signers[0], members[0] null: expected an object, found null
                records[0], records[0].keys[0] null: expected an object, found null
                group[0], boxes[0], link, oneTimeLinks[0] 5: expected an object, found the number 5
                oneTimeLinks[0].link, signers[0], members[0], records[0] 5: expected an object, found the number 5
                records[0].keys[0] 5: expected an object, found the number 5
                group[0].version, boxes[0].version missing or null: expected an integer, found nothing
                link.version, oneTimeLinks[0].link.version missing or null: expected an integer, found nothing
                records[0].keys[0].version missing or null: expected an integer, found nothing
                group[0].version, boxes[0].version, link.version {}: expected an integer, found an object
                oneTimeLinks[0].link.version, attention {}: expected an integer, found an object
                records[0].keys[0].version {}: expected an integer, found an object
                group[0].recipient, group[0].box missing or null: expected a base64 string, found nothing
                group[0].previous, group[0].signer missing or null: expected a base64 string, found nothing
                group[0].signature, boxes[0].recipient missing or null: expected a base64 string, found nothing
                boxes[0].box, boxes[0].previous missing or null: expected a base64 string, found nothing
                boxes[0].signer, boxes[0].signature missing or null: expected a base64 string, found nothing
                link.key, link.secret missing or null: expected a base64 string, found nothing
                oneTimeLinks[0].link.key missing or null: expected a base64 string, found nothing
                oneTimeLinks[0].link.secret missing or null: expected a base64 string, found nothing
                members[0].recipient missing or null: expected a base64 string, found nothing
                records[0].keys[0].id missing or null: expected a base64 string, found nothing
                records[0].keys[0].wrapped missing or null: expected a base64 string, found nothing
                group[0].recipient, group[0].box, group[0].previous {}: expected a base64 string, found an object
                group[0].signer, group[0].signature {}: expected a base64 string, found an object
                group[0].administrators[0], boxes[0].recipient {}: expected a base64 string, found an object
                boxes[0].box, boxes[0].previous, boxes[0].signer {}: expected a base64 string, found an object
                boxes[0].signature, boxes[0].administrators[0] {}: expected a base64 string, found an object
                link.key, link.secret, oneTimeLinks[0].link.key {}: expected a base64 string, found an object
                oneTimeLinks[0].link.secret, signers[0].entries[0] {}: expected a base64 string, found an object
                ownerEntries[0], members[0].entries[0] {}: expected a base64 string, found an object
                members[0].recipient, participants {}: expected a base64 string, found an object
                records[0].keys[0].id, records[0].keys[0].wrapped {}: expected a base64 string, found an object
                group[0].recipient, group[0].box "?": expected a base64 string, found the string "?"
                group[0].previous, group[0].signer "?": expected a base64 string, found the string "?"
                group[0].signature, group[0].administrators[0] "?": expected a base64 string, found the string "?"
                boxes[0].recipient, boxes[0].box "?": expected a base64 string, found the string "?"
                boxes[0].previous, boxes[0].signer "?": expected a base64 string, found the string "?"
                boxes[0].signature, boxes[0].administrators[0] "?": expected a base64 string, found the string "?"
                link.key, link.secret "?": expected a base64 string, found the string "?"
                oneTimeLinks[0].link.key "?": expected a base64 string, found the string "?"
                oneTimeLinks[0].link.secret "?": expected a base64 string, found the string "?"
                signers[0].entries[0], ownerEntries[0] "?": expected a base64 string, found the string "?"
                members[0].entries[0], members[0].recipient "?": expected a base64 string, found the string "?"
                participants, records[0].keys[0].id "?": expected a base64 string, found the string "?"
                records[0].keys[0].wrapped "?": expected a base64 string, found the string "?"
                group[0].administrators, boxes[0].administrators 5: expected an array, found the number 5
                signers[0].entries, ownerEntries, members[0].entries 5: expected an array, found the number 5
                group[0].administrators[0], boxes[0].administrators[0] null: expected a base64 string, found null
                signers[0].entries[0], ownerEntries[0] null: expected a base64 string, found null
                members[0].entries[0] null: expected a base64 string, found null
                oneTimeLinks 5: expected an array of links, found the number 5
                oneTimeLinks[0].participantId missing or null: expected a string, found nothing
                signers[0].userRecordName missing or null: expected a string, found nothing
                members[0].userRecordName, records[0].recordName missing or null: expected a string, found nothing
                oneTimeLinks[0].participantId, signers[0].userRecordName {}: expected a string, found an object
                members[0].userRecordName, members[0].oneTimeId {}: expected a string, found an object
                members[0].participantId, unsigned[0] {}: expected a string, found an object
                unsigned[0] null: expected a string, found null
                unsigned 5: expected an array of strings, found the number 5
                records[0].recordName {}: expected a string, found an object
                oneTimeLinks[0].link missing or null: expected a link, found nothing
                signers 5: expected an array of signers, found the number 5
                signers[0].entries, members[0].entries missing or null: expected an array, found nothing
                members 5: expected an array of members, found the number 5
                members[0].administrator, members[0].joinedByUrl {}: expected true or false, found an object
                perZone, shared, wantsLink, stale, left, open, hasMore {}: expected true or false, found an object
                records 5: expected an array of records, found the number 5
                records[0].keys missing or null: expected an array of keys, found nothing
                """#)
    }

    @Test func `a request to put a group's key keeps its bytes and errors`() throws {
        var request = PutGroupKeyRequest(
            zoneID: Samples.zoneID, group: "share", key: Samples.groupKey,
            boxes: [GroupBox(userRecordName: "_b", key: Samples.groupKey)], link: Samples.link, records: recordKeys,
            settled: 4, participants: [5])
        request.oneTimeLinks = [Samples.oneTimeLink]
        try expectRecorded(
            small: PutGroupKeyRequest(zoneID: nil), #"{}"#, full: request,
            #"""
            {"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"group":"share","key":{"version":2,\#
            "recipient":"AQ==","box":"AgM=","previous":"BA==","signer":"BQ==","signature":"Bg==",\#
            "administrators":["Bw==","CA=="]},"boxes":[{"userRecordName":"_b","key":{"version":2,\#
            "recipient":"AQ==","box":"AgM=","previous":"BA==","signer":"BQ==","signature":"Bg==",\#
            "administrators":["Bw==","CA=="]}}],"link":{"version":2,"key":"AQ==","secret":"Ag=="},\#
            "oneTimeLinks":[{"participantId":"p","link":{"version":2,"key":"AQ==","secret":"Ag=="}}],\#
            "records":[{"recordName":"A","keys":[{"id":"AQ==","version":1,"wrapped":"Ag=="}]}],"settled":4,\#
            "participants":"BQ=="}
            """#,
            malformed: #"""
                []: expected an object, found an array
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneName, boxes[0].userRecordName missing or null: expected a string, found nothing
                oneTimeLinks[0].participantId missing or null: expected a string, found nothing
                records[0].recordName missing or null: expected a string, found nothing
                zoneID.zoneName, zoneID.ownerRecordName, group {}: expected a string, found an object
                boxes[0].userRecordName, oneTimeLinks[0].participantId {}: expected a string, found an object
                records[0].recordName {}: expected a string, found an object
                key, boxes[0], boxes[0].key, link, oneTimeLinks[0] 5: expected an object, found the number 5
                oneTimeLinks[0].link, records[0], records[0].keys[0] 5: expected an object, found the number 5
                key.version, boxes[0].key.version missing or null: expected an integer, found nothing
                link.version, oneTimeLinks[0].link.version missing or null: expected an integer, found nothing
                records[0].keys[0].version missing or null: expected an integer, found nothing
                key.version, boxes[0].key.version, link.version {}: expected an integer, found an object
                oneTimeLinks[0].link.version, records[0].keys[0].version {}: expected an integer, found an object
                settled {}: expected an integer, found an object
                key.recipient, key.box, key.previous missing or null: expected a base64 string, found nothing
                key.signer, key.signature missing or null: expected a base64 string, found nothing
                boxes[0].key.recipient, boxes[0].key.box missing or null: expected a base64 string, found nothing
                boxes[0].key.previous missing or null: expected a base64 string, found nothing
                boxes[0].key.signer missing or null: expected a base64 string, found nothing
                boxes[0].key.signature, link.key missing or null: expected a base64 string, found nothing
                link.secret, oneTimeLinks[0].link.key missing or null: expected a base64 string, found nothing
                oneTimeLinks[0].link.secret missing or null: expected a base64 string, found nothing
                records[0].keys[0].id missing or null: expected a base64 string, found nothing
                records[0].keys[0].wrapped missing or null: expected a base64 string, found nothing
                key.recipient, key.box, key.previous, key.signer {}: expected a base64 string, found an object
                key.signature, key.administrators[0] {}: expected a base64 string, found an object
                boxes[0].key.recipient, boxes[0].key.box {}: expected a base64 string, found an object
                boxes[0].key.previous, boxes[0].key.signer {}: expected a base64 string, found an object
                boxes[0].key.signature {}: expected a base64 string, found an object
                boxes[0].key.administrators[0], link.key {}: expected a base64 string, found an object
                link.secret, oneTimeLinks[0].link.key {}: expected a base64 string, found an object
                oneTimeLinks[0].link.secret, records[0].keys[0].id {}: expected a base64 string, found an object
                records[0].keys[0].wrapped, participants {}: expected a base64 string, found an object
                key.recipient, key.box, key.previous "?": expected a base64 string, found the string "?"
                key.signer, key.signature "?": expected a base64 string, found the string "?"
                key.administrators[0], boxes[0].key.recipient "?": expected a base64 string, found the string "?"
                boxes[0].key.box, boxes[0].key.previous "?": expected a base64 string, found the string "?"
                boxes[0].key.signer, boxes[0].key.signature "?": expected a base64 string, found the string "?"
                boxes[0].key.administrators[0], link.key "?": expected a base64 string, found the string "?"
                link.secret, oneTimeLinks[0].link.key "?": expected a base64 string, found the string "?"
                oneTimeLinks[0].link.secret "?": expected a base64 string, found the string "?"
                records[0].keys[0].id "?": expected a base64 string, found the string "?"
                records[0].keys[0].wrapped, participants "?": expected a base64 string, found the string "?"
                key.administrators, boxes[0].key.administrators 5: expected an array, found the number 5
                key.administrators[0], boxes[0].key.administrators[0] null: expected a base64 string, found null
                boxes, records[0].keys 5: expected an array of keys, found the number 5
                boxes[0], oneTimeLinks[0], records[0], records[0].keys[0] null: expected an object, found null
                boxes[0].key missing or null: expected a key, found nothing
                oneTimeLinks 5: expected an array of links, found the number 5
                oneTimeLinks[0].link missing or null: expected a link, found nothing
                records 5: expected an array of records, found the number 5
                records[0].keys missing or null: expected an array of keys, found nothing
                """#)
    }

    @Test func `a command about keys keeps its bytes and errors`() throws {
        try expectRecorded(
            small: DeviceCommand(.list, url: "", container: "", environment: "", token: "", apiToken: ""),
            #"""
            {"action":"list","url":"","container":"","environment":"","token":"","apiToken":"","word":"",\#
            "group":""}
            """#,
            full: DeviceCommand(
                .takeKey, url: "https://example.com", container: "iCloud.com.example", environment: "development",
                token: "token", apiToken: "api", word: "fragment", group: "share", zoneID: Samples.zoneID),
            #"""
            {"action":"takeKey","url":"https://example.com","container":"iCloud.com.example",\#
            "environment":"development","token":"token","apiToken":"api","word":"fragment","group":"share",\#
            "zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"}}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at action: expected one of list, code, approve, revoke, recovery, recover, compare, accept, \#
                reset, takeKey, found nothing
                action missing or null: expected one of list, code, approve, revoke, recovery, recover, compare, \#
                accept, reset, takeKey, found nothing
                action {}: expected one of list, code, approve, revoke, recovery, recover, compare, accept, reset, \#
                takeKey, found an object
                action "?": expected one of list, code, approve, revoke, recovery, recover, compare, accept, reset, \#
                takeKey, found the string "?"
                url, container, environment, token, apiToken missing or null: expected a string, found nothing
                word, group, zoneID.zoneName missing or null: expected a string, found nothing
                url, container, environment, token, apiToken, word, group {}: expected a string, found an object
                zoneID.zoneName, zoneID.ownerRecordName {}: expected a string, found an object
                zoneID 5: expected a zone ID, found the number 5
                """#)
    }
}
