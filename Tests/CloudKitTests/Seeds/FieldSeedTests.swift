import CloudKit
import Testing

/// What Apple's pages on `CKRecord` say of fields, their types, their encryption and their size, as the server sees it.
@Suite struct FieldSeedTests {
    @Test(arguments: Transport.allCases)
    func `fields support strings, numbers, data, dates, arrays, locations and references`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("full")
            record["string"] = "a\u{0}b \u{1F600} \"\\ \n"
            record["empty"] = ""
            record["long"] = String(repeating: "ü", count: 100_000)
            record["int"] = Int64.min
            record["double"] = -0.1
            record["bool"] = true
            record["data"] = Data((0...255).map { UInt8($0) })
            record["date"] = Date(timeIntervalSince1970: 1_700_000_000.125)
            record["location"] = CLLocation(latitude: -33.86, longitude: 151.2)
            record["reference"] = CKRecord.Reference(recordID: record.recordID, action: .none)
            record["strings"] = ["b", "a", ""]
            record["ints"] = [3, 1, 2]
            record["doubles"] = [0.5, -1]
            record["dates"] = [Date(timeIntervalSince1970: 0)]
            record["datas"] = [Data(), Data([0])]
            record["locations"] = [CLLocation(latitude: 1, longitude: 2)]
            record["references"] = [CKRecord.Reference(recordID: CKRecord.ID(recordName: "gone"), action: .none)]
            try await database.save(record)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.allKeys() == record.allKeys())
            for key in record.allKeys() where !key.hasPrefix("location") {
                #expect((fetched[key] as? NSObject) == (record[key] as? NSObject), "\(key)")
            }
            let location = try #require(fetched["location"] as? CLLocation)
            #expect(location.coordinate.latitude == -33.86 && location.coordinate.longitude == 151.2)
            #expect((fetched["locations"] as? [CLLocation])?.first?.coordinate.longitude == 2)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the first save of a value associates its type with the key for all records of that type`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let first = note("first")
            first["stars"] = "five"
            try await database.save(first)
            let second = note("second")
            second["stars"] = 5
            #expect(second["stars"] == 5)
            await expectFailure(.invalidArguments) { try await database.save(second) }
            #expect(try await database.existing([second]) == [])
            let list = note("list")
            list["stars"] = ["five"]
            await expectFailure(.invalidArguments) { try await database.save(list) }
            let otherType = note("other", in: .default, "Review")
            otherType["stars"] = 5
            try await database.save(otherType)
        }
    }

    @Test(arguments: Transport.allCases)
    func `during development, new keys and values can be added at any time`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("growing")
            try await database.save(record)
            for key in ["a", "b", "c"] {
                record[key] = key
                try await database.save(record)
            }
            #expect(try await database.record(for: record.recordID).allKeys() == ["a", "b", "c"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `in production, the server returns an error for an unknown record type or for unknown keys`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.container(environment: .production).privateCloudDatabase
            await expectFailure(.invalidArguments) { try await database.save(note("unknown")) }
            let unknown = try await database.existing([note("unknown")])
            #expect(unknown == [])
            try await cloud.importSchema(
                "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, GRANT READ, CREATE, WRITE TO \"_icloud\");",
                deploys: true)
            let record = note("known")
            record["title"] = "known"
            try await database.save(record)
            record["subtitle"] = "unknown"
            await expectFailure(.invalidArguments) { try await database.save(record) }
            let stored = try await database.record(for: record.recordID)
            #expect(stored.allKeys() == ["title"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `the data that a record stores must not exceed 1 MB`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("large")
            record["data"] = Data(count: 900_000)
            try await database.save(record)
            record["more"] = Data(count: 200_000)
            await expectFailure(.limitExceeded) { try await database.save(record) }
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.allKeys() == ["data"])
            let tooLarge = note("tooLarge")
            tooLarge["text"] = String(repeating: "x", count: 1_100_000)
            await expectFailure(.limitExceeded) { try await database.save(tooLarge) }
        }
    }

    @Test(arguments: Transport.allCases)
    func `the limit of 1 MB doesn't include assets`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("album")
            let contents = [pattern(1_300_000), pattern(2_500_000)]
            record["images"] = try contents.map { CKAsset(fileURL: try files.file($0)) }
            record["data"] = Data(count: 900_000)
            try await cloud.database().save(record)
            let fetched = try await cloud.database().record(for: record.recordID)
            let assets = try #require(fetched["images"] as? [CKAsset])
            #expect(try assets.map { try Data(contentsOf: try #require($0.fileURL)) } == contents)
            #expect((fetched["data"] as? Data)?.count == 900_000)
        }
    }

    @Test(arguments: Transport.allCases)
    func `values of any data type can be encrypted, and come back decrypted`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = CKRecord(recordType: "Property")
            record.encryptedValues["ownerName"] = "Maria Ruiz"
            record.encryptedValues["rooms"] = 5
            record.encryptedValues["price"] = 12.5
            record.encryptedValues["sold"] = Date(timeIntervalSince1970: 1)
            record.encryptedValues["plan"] = Data([1, 2, 3])
            record.encryptedValues["names"] = ["a", "b"]
            record["city"] = "Lima"
            try await database.save(record)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.encryptedValues["ownerName"] as? NSString == "Maria Ruiz")
            #expect(fetched.encryptedValues["rooms"] as? Int == 5 && fetched.encryptedValues["price"] == 12.5)
            #expect(fetched.encryptedValues["sold"] == Date(timeIntervalSince1970: 1))
            #expect(
                fetched.encryptedValues["plan"] == Data([1, 2, 3]) && fetched.encryptedValues["names"] == ["a", "b"])
            #expect(fetched.encryptedValues.allKeys() == ["names", "ownerName", "plan", "price", "rooms", "sold"])
            #expect(fetched["city"] == "Lima" && fetched.encryptedValues["city"] == nil)
            fetched.encryptedValues["ownerName"] = nil
            try await database.save(fetched)
            #expect(try await database.record(for: record.recordID).encryptedValues["ownerName"] == nil)
        }
    }

    @Test(arguments: Transport.allCases)
    func `CloudKit doesn't allow encryption on existing fields of the schema, or in the public database`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            let plain = note("plain")
            plain["secret"] = "text"
            try await container.privateCloudDatabase.save(plain)
            let late = note("late")
            late.encryptedValues["secret"] = "text"
            await expectFailure(.invalidArguments) { try await container.privateCloudDatabase.save(late) }
            let open = CKRecord(recordType: "Property")
            open.encryptedValues["ownerName"] = "Maria Ruiz"
            await expectFailure(.invalidArguments) { try await container.publicCloudDatabase.save(open) }
        }
    }
}
