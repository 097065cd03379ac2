import NephosWire
import Testing

/// The bytes and decoding errors of messages about administration and schemas, on Nephos' own routes.
struct RecordedAdministrationTests {
    @Test func `accounts keep their bytes and errors`() throws {
        try expectRecorded(
            small: ListAccountsRequest(), #"{}"#, full: ListAccountsRequest(continuationMarker: "marker"),
            #"{"continuationMarker":"marker"}"#,
            malformed: #"""
                []: expected an object, found an array
                continuationMarker {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: AccountsResponse(accounts: []), #"{"accounts":[]}"#,
            full: AccountsResponse(
                accounts: [AccountsResponse.Account(name: "ada", userRecordName: "_a")], continuationMarker: "marker"),
            #"""
            {"accounts":[{"name":"ada","userRecordName":"_a"}],"continuationMarker":"marker"}
            """#,
            malformed: #"""
                []: expected an object, found an array
                accounts missing or null: reads as []
                accounts 5: expected an array of accounts, found the number 5
                accounts[0] null: expected an object, found null
                accounts[0] 5: expected an object, found the number 5
                accounts[0].name, accounts[0].userRecordName missing or null: expected a string, found nothing
                accounts[0].name, accounts[0].userRecordName {}: expected a string, found an object
                continuationMarker {}: expected a string, found an object
                """#)
    }

    @Test func `the deletion of an account keeps its bytes and errors`() throws {
        try expectRecorded(
            small: DeleteAccountRequest(account: ""), #"{"account":""}"#, full: DeleteAccountRequest(account: "ada"),
            #"{"account":"ada"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at account: expected a string, found nothing
                account missing or null: expected a string, found nothing
                account {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: DeleteAccountResponse(
                account: "", userRecordName: "", zones: 0, shares: 0, joinedShares: 0, subscriptions: 0, pushTokens: 0,
                assetBytes: 0),
            #"""
            {"account":"","userRecordName":"","zones":0,"shares":0,"joinedShares":0,"subscriptions":0,\#
            "pushTokens":0,"assetBytes":0}
            """#,
            full: DeleteAccountResponse(
                account: "ada", userRecordName: "_a", zones: 1, shares: 2, joinedShares: 3, subscriptions: 4,
                pushTokens: 5, assetBytes: 6),
            #"""
            {"account":"ada","userRecordName":"_a","zones":1,"shares":2,"joinedShares":3,"subscriptions":4,\#
            "pushTokens":5,"assetBytes":6}
            """#,
            malformed: #"""
                []: expected an object, found an array
                account, userRecordName missing or null: reads as ""
                account, userRecordName {}: expected a string, found an object
                zones, shares, joinedShares, subscriptions, pushTokens, assetBytes missing or null: reads as 0
                zones, shares, joinedShares, subscriptions, pushTokens {}: expected an integer, found an object
                assetBytes {}: expected an integer, found an object
                """#)
    }

    @Test func `an export's header keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ExportHeader(container: "", environment: "", database: "", account: nil),
            #"{"nephosExport":1,"container":"","environment":"","database":""}"#,
            full: ExportHeader(
                container: "iCloud.com.example", environment: "development", database: "private", account: "ada"),
            #"""
            {"nephosExport":1,"container":"iCloud.com.example","environment":"development",\#
            "database":"private","account":"ada"}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at nephosExport: expected the version of an export, 1, found nothing
                nephosExport missing or null: expected the version of an export, 1, found nothing
                nephosExport {}: expected the version of an export, 1, found an object
                nephosExport -1: expected the version of an export, 1, found the number -1
                container, environment, database missing or null: expected a string, found nothing
                container, environment, database, account {}: expected a string, found an object
                """#)
    }

    @Test func `the purge of tombstones keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ForgetDeletionsRequest(olderThan: 0), #"{"olderThan":0}"#,
            full: ForgetDeletionsRequest(olderThan: 1_000), #"{"olderThan":1000}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at olderThan: expected a number of milliseconds, found nothing
                olderThan missing or null: expected a number of milliseconds, found nothing
                olderThan {}: expected a number of milliseconds, found an object
                olderThan -1: expected a number of milliseconds, 0 or more, found the number -1
                """#)
        try expectRecorded(
            small: ForgetDeletionsResponse(records: 0, zones: 0), #"{"records":0,"zones":0}"#,
            full: ForgetDeletionsResponse(records: 1, zones: 2), #"{"records":1,"zones":2}"#,
            malformed: #"""
                []: expected an object, found an array
                records, zones missing or null: reads as 0
                records, zones {}: expected an integer, found an object
                """#)
    }

    @Test func `roles keep their bytes and errors`() throws {
        let role = RoleRequest(account: "ada", role: "Editor")
        try expectRecorded(
            small: ListRolesRequest(), #"{}"#, full: ListRolesRequest(account: "ada"), #"{"account":"ada"}"#,
            malformed: #"""
                []: expected an object, found an array
                account {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: RoleRequest(account: "", role: ""), #"{"account":"","role":""}"#, full: role,
            #"{"account":"ada","role":"Editor"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at account: expected a string, found nothing
                account, role missing or null: expected a string, found nothing
                account, role {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: RolesResponse(members: []), #"{"members":[]}"#, full: RolesResponse(members: [role]),
            #"{"members":[{"account":"ada","role":"Editor"}]}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at members: expected an array, found nothing
                members missing or null: expected an array, found nothing
                members 5: expected an array of accounts and roles, found the number 5
                members[0] null: expected an object, found null
                members[0] 5: expected an object, found the number 5
                members[0].account, members[0].role missing or null: expected a string, found nothing
                members[0].account, members[0].role {}: expected a string, found an object
                """#)
    }

    @Test func `the overview of a service keeps its bytes and errors`() throws {
        var container = ServiceOverview.Container(container: "iCloud.com.example", environment: "development")
        let plain = container
        container.accounts = ["ada"]
        container.zones = 2
        container.recordTypes = [ServiceOverview.RecordType(name: "Artwork", records: 3)]
        container.isComplete = false
        try expectRecorded(
            small: ServiceOverview(containers: [plain], isComplete: true),
            #"""
            {"containers":[{"container":"iCloud.com.example","environment":"development","accounts":[],\#
            "zones":0,"recordTypes":[],"isComplete":true}],"isComplete":true}
            """#,
            full: ServiceOverview(containers: [container], isComplete: false),
            #"""
            {"containers":[{"container":"iCloud.com.example","environment":"development","accounts":["ada"],\#
            "zones":2,"recordTypes":[{"name":"Artwork","records":3}],"isComplete":false}],"isComplete":false}
            """#,
            malformed: #"""
                []: expected an object, found an array
                containers, containers[0].accounts, containers[0].recordTypes missing or null: reads as []
                containers 5: expected an array of containers, found the number 5
                containers[0], containers[0].recordTypes[0] null: expected an object, found null
                containers[0], containers[0].recordTypes[0] 5: expected an object, found the number 5
                containers[0].container missing or null: expected a string, found nothing
                containers[0].environment missing or null: expected a string, found nothing
                containers[0].recordTypes[0].name missing or null: expected a string, found nothing
                containers[0].container, containers[0].environment {}: expected a string, found an object
                containers[0].accounts[0] {}: expected a string, found an object
                containers[0].recordTypes[0].name {}: expected a string, found an object
                containers[0].accounts 5: expected an array of strings, found the number 5
                containers[0].accounts[0] null: expected a string, found null
                containers[0].zones missing or null: reads as 0
                containers[0].zones, containers[0].recordTypes[0].records {}: expected an integer, found an object
                containers[0].recordTypes 5: expected an array of record types, found the number 5
                containers[0].recordTypes[0].records missing or null: expected a number, found nothing
                containers[0].isComplete, isComplete missing or null: reads as true
                containers[0].isComplete, isComplete {}: expected true or false, found an object
                """#)
    }

    @Test func `accounts' shares keep their bytes and errors`() throws {
        try expectRecorded(
            small: ListSharesRequest(), #"{}"#, full: ListSharesRequest(account: "ada"), #"{"account":"ada"}"#,
            malformed: #"""
                []: expected an object, found an array
                account {}: expected a string, found an object
                """#)
        let share = AccountShare(
            account: "ada", zoneName: "Gallery", recordName: "share", rootRecordName: "root", shortGUID: "guid",
            publicPermission: "READ_ONLY",
            participants: [
                AccountShare.Participant(
                    name: "bo", role: "PRIVATE_USER", permission: "READ_WRITE", status: "ACCEPTED")
            ])
        var plain = share
        plain.rootRecordName = nil
        plain.participants = []
        try expectRecorded(
            small: AccountSharesResponse(shares: [plain]),
            #"""
            {"shares":[{"account":"ada","zoneName":"Gallery","recordName":"share","shortGUID":"guid",\#
            "publicPermission":"READ_ONLY","participants":[]}]}
            """#, full: AccountSharesResponse(shares: [share]),
            #"""
            {"shares":[{"account":"ada","zoneName":"Gallery","recordName":"share","rootRecordName":"root",\#
            "shortGUID":"guid","publicPermission":"READ_ONLY","participants":[{"name":"bo",\#
            "type":"PRIVATE_USER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED"}]}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at shares: expected an array, found nothing
                shares missing or null: expected an array, found nothing
                shares 5: expected an array of shares, found the number 5
                shares[0] null: expected a share, found null
                shares[0] 5: expected a share, found the number 5
                shares[0].account, shares[0].zoneName, shares[0].recordName missing or null: reads as ""
                shares[0].shortGUID, shares[0].publicPermission missing or null: reads as ""
                shares[0].participants[0].name, shares[0].participants[0].type missing or null: reads as ""
                shares[0].participants[0].permission missing or null: reads as ""
                shares[0].participants[0].acceptanceStatus missing or null: reads as ""
                shares[0].account, shares[0].zoneName, shares[0].recordName {}: expected a string, found an object
                shares[0].rootRecordName, shares[0].shortGUID {}: expected a string, found an object
                shares[0].publicPermission, shares[0].participants[0].name {}: expected a string, found an object
                shares[0].participants[0].type {}: expected a string, found an object
                shares[0].participants[0].permission {}: expected a string, found an object
                shares[0].participants[0].acceptanceStatus {}: expected a string, found an object
                shares[0].participants missing or null: reads as []
                shares[0].participants 5: expected an array of participants, found the number 5
                shares[0].participants[0] null: expected a participant, found null
                shares[0].participants[0] 5: expected a participant, found the number 5
                """#)
    }

    @Test func `the explanation of permissions keeps its bytes and errors`() throws {
        try expectRecorded(
            small: ExplainAccessRequest(account: "", owner: "", zoneName: "", recordName: ""),
            #"{"account":"","owner":"","zoneName":"","recordName":""}"#,
            full: ExplainAccessRequest(account: "bo", owner: "ada", zoneName: "Gallery", recordName: "A"),
            #"{"account":"bo","owner":"ada","zoneName":"Gallery","recordName":"A"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at account: expected a string, found nothing
                account, owner, zoneName, recordName missing or null: expected a string, found nothing
                account, owner, zoneName, recordName {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: ExplainAccessResponse(lines: []), #"{"lines":[]}"#, full: ExplainAccessResponse(lines: ["He may."]),
            #"{"lines":["He may."]}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at lines: expected an array, found nothing
                lines missing or null: expected an array, found nothing
                lines 5: expected an array of strings, found the number 5
                lines[0] null: expected a string, found null
                lines[0] {}: expected a string, found an object
                """#)
    }

    @Test func `accounts' zones keep their bytes and errors`() throws {
        try expectRecorded(
            small: ListAccountZonesRequest(), #"{}"#,
            full: ListAccountZonesRequest(account: "ada", continuationMarker: "marker"),
            #"{"account":"ada","continuationMarker":"marker"}"#,
            malformed: #"""
                []: expected an object, found an array
                account, continuationMarker {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: RemoveZonesRequest(account: "ada", zones: nil, reason: .deleted),
            #"{"account":"ada","reason":"DELETED"}"#,
            full: RemoveZonesRequest(account: "ada", zones: ["Gallery"], reason: .encryptedDataReset),
            #"{"account":"ada","zones":["Gallery"],"reason":"ENCRYPTED_DATA_RESET"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at account: expected a string, found nothing
                account missing or null: expected a string, found nothing
                account, zones[0] {}: expected a string, found an object
                zones 5: expected an array of strings, found the number 5
                zones[0] null: expected a string, found null
                reason missing or null: expected a reason, found nothing
                reason {}: expected one of DELETED, PURGED, ENCRYPTED_DATA_RESET, found an object
                reason "?": expected one of DELETED, PURGED, ENCRYPTED_DATA_RESET, found the string "?"
                """#)
        try expectRecorded(
            small: AccountZonesResponse(zones: []), #"{"zones":[]}"#,
            full: AccountZonesResponse(
                zones: [AccountZonesResponse.Zone(account: "ada", zoneName: "Gallery")], continuationMarker: "marker"),
            #"{"zones":[{"account":"ada","zoneName":"Gallery"}],"continuationMarker":"marker"}"#,
            malformed: #"""
                []: expected an object, found an array
                zones missing or null: reads as []
                zones 5: expected an array of zones, found the number 5
                zones[0] null: expected an object, found null
                zones[0] 5: expected an object, found the number 5
                zones[0].account, zones[0].zoneName missing or null: expected a string, found nothing
                zones[0].account, zones[0].zoneName, continuationMarker {}: expected a string, found an object
                """#)
    }

    @Test func `the explanation of a query is asked for with the same bytes and errors`() throws {
        let query = QueryRecordsRequest(query: Query(recordType: "Artwork"))
        try expectRecorded(
            small: ExplainQueryRequest(database: "public", account: nil, request: query),
            #"{"database":"public","request":{"query":{"recordType":"Artwork"}}}"#,
            full: ExplainQueryRequest(database: "private", account: "ada", request: query),
            #"{"database":"private","account":"ada","request":{"query":{"recordType":"Artwork"}}}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at database: expected a string, found nothing
                database, request.query.recordType missing or null: expected a string, found nothing
                database, account, request.query.recordType {}: expected a string, found an object
                request missing or null: expected a request of records/query, found nothing
                request 5: expected an object, found the number 5
                request.query missing or null: expected a query dictionary, found nothing
                request.query 5: expected a query, found the number 5
                """#)
    }

    @Test func `reports about schemas keep their bytes and errors`() throws {
        try expectRecorded(
            small: SchemaReport(findings: [SchemaReport.Finding(isError: false, message: "unused")]),
            #"{"findings":[{"severity":"warning","message":"unused"}],"changes":[]}"#,
            full: SchemaReport(
                findings: [SchemaReport.Finding(isError: true, line: 1, column: 2, message: "no such type")],
                changes: ["added"]),
            #"""
            {"findings":[{"severity":"error","line":1,"column":2,"message":"no such type"}],\#
            "changes":["added"]}
            """#,
            malformed: #"""
                []: expected a report about a schema, found an array
                findings, changes missing or null: reads as []
                findings 5: expected an array of findings, found the number 5
                findings[0] null: expected a finding, found null
                findings[0] 5: expected a finding, found the number 5
                findings[0].severity missing or null: reads as "error"
                findings[0].severity, findings[0].message, changes[0] {}: expected a string, found an object
                findings[0].severity "?": reads as "error"
                findings[0].line, findings[0].column {}: expected an integer, found an object
                findings[0].message missing or null: reads as ""
                changes 5: expected an array of strings, found the number 5
                changes[0] null: expected a string, found null
                """#)
        try expectRecorded(
            small: IndexesReport(indexes: []), #"{"indexes":[]}"#,
            full: IndexesReport(
                indexes: [
                    IndexStatus(recordType: "Artwork", fields: ["year SORTABLE"], state: .building, progress: 0.5)
                ]),
            #"""
            {"indexes":[{"recordType":"Artwork","fields":["year SORTABLE"],"state":"building",\#
            "progress":0.5}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at indexes: expected an array of indexes, found nothing
                indexes missing or null: expected an array of indexes, found nothing
                indexes 5: expected an array of indexes, found the number 5
                indexes[0] null: expected an index, found null
                indexes[0] 5: expected an index, found the number 5
                indexes[0].recordType missing or null: reads as ""
                indexes[0].recordType, indexes[0].fields[0] {}: expected a string, found an object
                indexes[0].fields missing or null: reads as []
                indexes[0].fields 5: expected an array of strings, found the number 5
                indexes[0].fields[0] null: expected a string, found null
                indexes[0].state missing or null: reads as "building"
                indexes[0].state {}: expected one of building, ready, removing, found an object
                indexes[0].state "?": expected one of building, ready, removing, found the string "?"
                indexes[0].progress missing or null: reads as 0.0
                indexes[0].progress {}: expected a number, found an object
                indexes[0].progress -1: reads as -1.0
                """#)
        try expectRecorded(
            small: DeploySchemaRequest(), #"{}"#, full: DeploySchemaRequest(changes: ["role 'A' added"]),
            #"{"changes":["role 'A' added"]}"#,
            malformed: #"""
                []: expected an object, found an array
                changes 5: expected an array of strings, found the number 5
                changes[0] null: expected a string, found null
                changes[0] {}: expected a string, found an object
                """#)
        try expectRecorded(
            small: DropFieldRequest(recordType: "", field: ""), #"{"recordType":"","field":""}"#,
            full: DropFieldRequest(recordType: "Artwork", field: "year"), #"{"recordType":"Artwork","field":"year"}"#,
            malformed: #"""
                []: expected an object, found an array
                {}: at recordType: expected a string, found nothing
                recordType, field missing or null: expected a string, found nothing
                recordType, field {}: expected a string, found an object
                """#)
    }
}
