import Foundation
import Testing

@testable import CloudKit

/// Files beside records, as an app sees them, through both transports.
@Suite struct AssetTests {
    @Test(arguments: Transport.allCases)
    func `a saved file is fetched by a second client, byte for byte`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let content = pattern(700_000)
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file(content))
            record["title"] = "Sunset"
            try await cloud.database().save(record)

            let fetched = try await cloud.database().record(for: record.recordID)
            #expect(try fetched.content("image") == content)
            #expect(fetched["title"] == "Sunset")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a list of files, an empty file and another account's public file are fetched`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("album")
            record["images"] = try ["one", "", "three"].map { CKAsset(fileURL: try files.file($0)) }
            try await cloud.container("mei").publicCloudDatabase.save(record)

            let fetched = try await cloud.container("tom").publicCloudDatabase.record(for: record.recordID)
            let assets = try #require(fetched["images"] as? [CKAsset])
            let texts = try assets.map { try String(contentsOf: try #require($0.fileURL), encoding: .utf8) }
            #expect(texts == ["one", "", "three"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `a record whose file may not be saved fails alone`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let (mine, others) = (note("mine"), note("others"))
            try await cloud.container("mei").publicCloudDatabase.save(others)
            let database = cloud.container("tom").publicCloudDatabase
            let taken = try await database.record(for: others.recordID)
            for record in [mine, taken] { record["image"] = CKAsset(fileURL: try files.file("x")) }
            let results = try await database.modifyRecords(saving: [mine, taken], deleting: []).saveResults
            #expect(try results[mine.recordID]?.get().recordID == mine.recordID)
            #expect((results[taken.recordID]?.error as? CKError)?.code == .permissionFailure)
        }
    }

    @Test(arguments: Transport.allCases)
    func `queries and zone changes download files`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let database = cloud.database()
            let zone = try await database.zone("Photos")
            for name in ["a", "b"] {
                let record = note(name, in: zone)
                record["image"] = CKAsset(fileURL: try files.file("content of \(name)"))
                try await database.save(record)
            }
            let other = cloud.database()
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            let matches = try await other.records(matching: query, inZoneWith: zone).matchResults
            for (id, result) in matches { #expect(try result.get().text("image") == "content of \(id.recordName)") }
            #expect(matches.count == 2)

            let changes = try await other.recordZoneChanges(inZoneWith: zone, since: nil).modificationResultsByID
            for (id, result) in changes {
                #expect(try result.get().record.text("image") == "content of \(id.recordName)")
            }
            #expect(changes.count == 2)
        }
    }

    @Test(arguments: Transport.allCases)
    func `fields that are not desired are not downloaded`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file("content"))
            record["title"] = "Sunset"
            try await cloud.database().save(record)
            let results = try await cloud.database().records(for: [record.recordID], desiredKeys: ["title"])
            let fetched = try #require(try results[record.recordID]?.get())
            #expect(fetched["image"] == nil && fetched["title"] == "Sunset")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a missing file is assetFileNotFound, and its record is not saved`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let record = note("photo")
            record["image"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/file"))
            await expectFailure(.assetFileNotFound) { try await cloud.database().save(record) }
            let folder = note("folder")
            folder["image"] = CKAsset(fileURL: FileManager.default.temporaryDirectory)
            await expectFailure(.assetNotAvailable) { try await cloud.database().save(folder) }
            let existing = try await cloud.database().existing([record, folder])
            #expect(existing == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `the app's writes to a fetched file affect no other record and no later fetch`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file("as it was saved"))
            try await cloud.database().save(record)
            let first = try await cloud.database().record(for: record.recordID)
            let url = try #require((first["image"] as? CKAsset)?.fileURL)
            let handle = try FileHandle(forWritingTo: url)
            try handle.write(contentsOf: Data("something".utf8))
            try handle.close()
            let second = try await cloud.database().record(for: record.recordID)
            #expect(try second.text("image") == "as it was saved")
            #expect(try first.text("image") == "something saved")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a field without changes keeps its file, whatever the save policy`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let database = cloud.database()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file("content"))
            try await database.save(record)
            record["title"] = "renamed"
            try await database.saveAll([record], .allKeys)
            let fetched = try await cloud.database().record(for: record.recordID)
            fetched["title"] = "again"
            try await database.saveAll([fetched], .allKeys)
            let last = try await cloud.database().record(for: record.recordID)
            #expect(try last.text("image") == "content")
            #expect(last["title"] == "again")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a file can be replaced, removed, and saved in another record`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let database = cloud.database()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file("first"))
            try await database.save(record)
            record["image"] = CKAsset(fileURL: try files.file("second"))
            try await database.save(record)
            let fetched = try await cloud.database().record(for: record.recordID)
            #expect(try fetched.text("image") == "second")

            let copy = note("copy")
            copy["image"] = fetched["image"]
            try await database.save(copy)
            fetched["image"] = nil
            try await database.save(fetched)
            let emptied = try await database.record(for: record.recordID)
            #expect(emptied["image"] == nil)
            let copied = try await database.record(for: copy.recordID)
            #expect(try copied.text("image") == "second")
        }
    }

    /// What another device does to a record with a file.
    enum Change: CaseIterable {
        case replacesFile, removesFile, deletesRecord
    }

    @Test(arguments: Transport.allCases, Change.allCases)
    func `a save that compares no tags sends a file again that the server no longer has in the field`(
        transport: Transport, change: Change
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let (phone, tablet) = (cloud.database(), cloud.database())
            let zone = CKRecordZone(zoneName: "Z")
            _ = try await phone.save(zone)
            for zoneID in [zone.zoneID, .default] {
                let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "photo", zoneID: zoneID))
                record["image"] = CKAsset(fileURL: try files.file("mine"))
                record["images"] = [
                    CKAsset(fileURL: try files.file("a")), CKAsset(fileURL: try files.file("b")),
                ]
                try await phone.save(record)
                let other = try await tablet.record(for: record.recordID)
                switch change {
                case .replacesFile:
                    other["image"] = CKAsset(fileURL: try files.file("theirs"))
                    other["images"] = [CKAsset(fileURL: try files.file("b"))]
                    _ = try await tablet.save(other)
                case .removesFile:
                    other["image"] = nil
                    other["images"] = nil
                    _ = try await tablet.save(other)
                case .deletesRecord: _ = try await tablet.deleteRecord(withID: record.recordID)
                }
                record["title"] = "overwritten"
                let beside = CKRecord(
                    recordType: "Note", recordID: CKRecord.ID(recordName: "beside", zoneID: zoneID))
                try await phone.saveAll([beside, record], .allKeys)
                let fetched = try await tablet.record(for: record.recordID)
                #expect(try fetched.text("image") == "mine")
                let list = try #require(fetched["images"] as? [CKAsset])
                #expect(try list.map { try String(contentsOf: #require($0.fileURL), encoding: .utf8) } == ["a", "b"])
                #expect(fetched["title"] == "overwritten")
                _ = try await tablet.record(for: beside.recordID)
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `the asset of a field that is set again is saved, whatever the server has now`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("photo")
            let asset = CKAsset(fileURL: try files.file("mine"))
            record["image"] = asset
            try await cloud.database().save(record)
            let other = try await cloud.database().record(for: record.recordID)
            other["image"] = CKAsset(fileURL: try files.file("theirs"))
            try await cloud.database().save(other)
            record["image"] = asset
            try await cloud.database().saveAll([record], .changedKeys)
            #expect(try await cloud.database().record(for: record.recordID).text("image") == "mine")
            // Without its file the asset cannot be sent again.
            other["image"] = CKAsset(fileURL: try files.file("theirs again"))
            try await cloud.database().saveAll([other], .changedKeys)
            try FileManager.default.removeItem(at: try #require(asset.fileURL))
            record["image"] = asset
            let error = await #expect(throws: CKError.self) {
                try await cloud.database().saveAll([record], .changedKeys)
            }
            #expect(error?.code == .assetFileNotFound)
            #expect(try await cloud.database().record(for: record.recordID).text("image") == "theirs again")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a conflict has the server's asset without its file`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file("theirs"))
            try await cloud.database().save(record)
            let mine = note("photo")
            mine["image"] = CKAsset(fileURL: try files.file("mine"))
            do {
                try await cloud.database().save(mine)
                Issue.record("the save had to fail")
            } catch let error as CKError {
                #expect(error.code == .serverRecordChanged)
                let asset = try #require(error.serverRecord?["image"] as? CKAsset)
                #expect(asset.fileURL == nil)
                // The server's record is the one to merge into and to save.
                let server = try #require(error.serverRecord)
                server["title"] = "merged"
                try await cloud.database().saveAll([server], .allKeys)
            }
            let fetched = try await cloud.database().record(for: record.recordID)
            #expect(try fetched.text("image") == "theirs")
        }
    }

    @Test(arguments: Transport.allCases)
    func `progress follows the bytes and ends with 1`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let files = try TestFiles()
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file(pattern(4_000_000)))
            let sent = Locked<[Double]>([])
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.perRecordProgressBlock = { _, fraction in sent.withLock { $0.append(fraction) } }
            try await withCheckedThrowingContinuation { continuation in
                operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
                cloud.database().add(operation)
            }
            let received = Locked<[Double]>([])
            let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
            fetch.perRecordProgressBlock = { _, fraction in received.withLock { $0.append(fraction) } }
            try await withCheckedThrowingContinuation { continuation in
                fetch.fetchRecordsResultBlock = { continuation.resume(with: $0) }
                cloud.database().add(fetch)
            }
            for fractions in [sent.withLock { $0 }, received.withLock { $0 }] {
                #expect(fractions.last == 1 && fractions.count > 1 && fractions == fractions.sorted())
            }
        }
    }
}
