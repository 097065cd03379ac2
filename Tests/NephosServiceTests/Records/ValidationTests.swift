import NephosWire
import Testing

@testable import NephosService

@Suite struct ValidationTests {
    private func error(_ operation: RecordOperation, _ scope: DatabaseScope = .private) async throws -> ErrorDictionary?
    {
        try await TestDatabase(TestCloud(), "me", scope).modify([operation])[0].error
    }

    @Test(arguments: ["", "_a", "caf\u{e9}", "a\nb", "a\u{0}", String(repeating: "n", count: 256)])
    func `a record name is 1 to 255 printable ASCII characters without a leading underscore`(name: String) async throws
    {
        let error = try #require(try await error(.create(name)))
        #expect(error.clientErrorCode == 12 && error.reason.hasPrefix("recordName"))
    }

    @Test func `a record name of 255 characters is saved`() async throws {
        #expect(try await error(.create(String(repeating: "n", count: 255))) == nil)
    }

    @Test(arguments: ["", String(repeating: "n", count: 256)])
    func `a reference names a record, with or without its zone, alone and in a list`(name: String) async throws {
        for zone in [nil, ZoneIDDictionary.defaultZone] {
            let reference = FieldValue.reference(ReferenceValue(recordName: name, zoneID: zone, action: .none))
            for value in [reference, .list(of: .reference, [reference])] {
                let error = try #require(try await error(.create("a", ["link": value])))
                #expect(error.clientErrorCode == 12 && error.reason.contains("no usable recordName"))
            }
        }
    }

    @Test(arguments: ["", "1Note", "My Note", "Nöte", "_Note", "a-b", "Users", "cloudkit.share"])
    func `a record type is a letter, then letters, digits and underscores, and not a system type`(type: String)
        async throws
    {
        #expect(try await error(.create("a", type: type))?.clientErrorCode == 12)
    }

    @Test(arguments: [RecordOperation.OperationType.create, .forceUpdate, .forceReplace])
    func `a custom zone takes no user record`(type: RecordOperation.OperationType) async throws {
        let cloud = TestCloud()
        let mine = TestDatabase(cloud)
        let custom = try await mine.making(zone: "Z")
        let name = try await cloud.service.currentUser(mine.context).userRecordName
        for spelling in [name, "__defaultOwner__"] {
            var operation = RecordOperation.force(spelling, ["nick": .string("m")], type: "Users")
            operation.operationType = type
            #expect(try await custom.modify([operation])[0].error?.clientErrorCode == 12)
            #expect(try await custom.lookup(name)[0].record == nil)
        }
        // A record of another type may have its name, there.
        #expect(try await custom.modify([.create(name)])[0].error == nil)
        #expect(try await custom.modify([.delete(name)])[0].error == nil)
        #expect(try await mine.modify([.delete(name)])[0].error?.clientErrorCode == 12)
        #expect(try await mine.modify([.force(name, ["nick": .string("m")], type: "Users")])[0].error == nil)
    }

    @Test(arguments: ["", "1x", "a b", "x.y", String(repeating: "k", count: 256)])
    func `a field's name is a letter, then letters, digits and underscores`(name: String) async throws {
        #expect(try await error(.create("a", [name: .int64(1)]))?.clientErrorCode == 12)
    }

    @Test(arguments: ["_x", "___recordID"]) func `field names with a leading underscore are reserved`(
        name: String
    ) async throws {
        let error = try #require(try await error(.create("a", [name: .int64(1)])))
        #expect(error.clientErrorCode == 10 && error.reason.hasPrefix("Unprivileged attempt to insert a system field"))
    }

    @Test func `encrypted fields are refused in the public database`() async throws {
        var operation = RecordOperation.create("a")
        operation.record.fields["secret"] = Field(.string("x"), isEncrypted: true)
        #expect(
            try await error(operation, .public)?.reason == "encrypted fields are not supported in the public database")
        let reason = try await error(operation)?.reason
        #expect(reason?.hasPrefix("field 'secret' of record 'a' is sent as encrypted") == true)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON cannot represent is refused`(value: Double) async throws {
        #expect(try await error(.create("a", ["x": .double(value)]))?.clientErrorCode == 12)
    }

    @Test(arguments: [(90.5, 0), (-91, 0), (0, 180.5), (0, -1e9), (.nan, 0)] as [(Double, Double)])
    func `an invalid location is refused in a record, a condition and an order`(
        latitude: Double, longitude: Double
    ) async throws {
        let place = LocationValue(latitude: latitude, longitude: longitude)
        #expect(try await error(.create("a", ["x": .location(place)]))?.clientErrorCode == 12)
        #expect(try await error(.create("a", ["x": .list(of: .location, [.location(place)])]))?.clientErrorCode == 12)
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["x": .location(LocationValue(latitude: 90, longitude: -180))])])
        for query in [
            Query(recordType: "Note", filterBy: [Filter(.field("x"), .near, .location(place), distance: 5)]),
            Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("x"), relativeLocation: place)]),
            Query(
                recordType: "Note",
                extendedFilter: .not(.filter(Filter(.field("x"), .near, .location(place), distance: 5)))),
        ] {
            let error = await #expect(throws: ServiceError.self) {
                try await database.cloud.service.queryRecords(QueryRecordsRequest(query: query), database.context)
            }
            #expect(error?.clientCode == .invalidArguments && error?.reason.hasPrefix("Invalid query") == true)
        }
    }

    @Test func `a record over 1 MB is refused, also after a merge`() async throws {
        let database = TestDatabase(TestCloud())
        let half = FieldValue.string(String(repeating: "x", count: 600_000))
        #expect(try await database.modify([.create("a", ["x": half])])[0].summary == "saved")
        #expect(try await database.modify([.force("a", ["y": half])])[0].summary == "error 27")
        #expect(try await database.modify([.force("a", ["x": nil, "y": half])])[0].summary == "saved")
        let whole = FieldValue.string(String(repeating: "x", count: Limits.recordSize + 1))
        #expect(try await database.modify([.create("b", ["x": whole])])[0].summary == "error 27")
    }

    @Test func `data counts as its bytes, not as its encoding`() async throws {
        let data = FieldValue.bytes([UInt8](repeating: 7, count: 1_000_000))
        #expect(try await error(.create("a", ["x": data])) == nil)
    }

    @Test func `400 operations are a request, 401 are too many, and in strict mode 201`() async throws {
        func creates(_ count: Int) -> [RecordOperation] { (0..<count).map { .create("n\($0)") } }
        let database = TestDatabase(TestCloud())
        let error = await #expect(throws: ServiceError.self) { try await database.modify(creates(401)) }
        #expect(error?.clientCode == .limitExceeded)
        #expect(try await database.existing("n0") == [])
        #expect(try await database.modify(creates(400)).allSatisfy { $0.record != nil })
        let strict = TestDatabase(TestCloud(isStrict: true))
        await #expect(throws: ServiceError.self) { try await strict.modify(creates(201)) }
    }

    @Test func `a request holds at most 2 MB of records`() async throws {
        let part = FieldValue.string(String(repeating: "x", count: 700_000))
        let database = TestDatabase(TestCloud())
        let error = await #expect(throws: ServiceError.self) {
            try await database.modify((0..<3).map { .create("n\($0)", ["x": part]) })
        }
        #expect(error?.clientCode == .limitExceeded)
        #expect(try await database.existing("n0") == [])
    }

    @Test(arguments: ["", "..", "../x", "a/b", ".hidden", "a b", String(repeating: "c", count: 201)])
    func `a container's identifier cannot escape the data directory`(container: String) async {
        let cloud = TestCloud()
        let error = await #expect(throws: ServiceError.self) {
            try await cloud.service.listZones(cloud.context(container: container))
        }
        #expect(error?.clientCode == .badContainer)
    }
}
