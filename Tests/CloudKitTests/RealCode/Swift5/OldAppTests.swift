import CloudKit
import CloudKitLocal
import Testing

private protocol OldNotesMaker {
    func make(_ container: CKContainer) -> any OldNotes
}

// Behind a protocol, so that the tests do not warn of what the app uses.
private struct Maker: OldNotesMaker {
    @available(*, deprecated)
    func make(_ container: CKContainer) -> any OldNotes { OldNotesManager(container: container) }
}

@Suite struct OldAppTests {
    private let container: CKContainer
    private let notes: any OldNotes

    init() throws {
        container = try CKContainer.local()
        let maker: any OldNotesMaker = Maker()
        notes = maker.make(container)
    }

    @Test func `an old app saves, loads and removes with completion blocks`() async throws {
        let error = await withCheckedContinuation { done in notes.save(["a", "bb"]) { done.resume(returning: $0) } }
        #expect(error == nil && notes.titles == ["a", "bb"] && notes.lastError == nil)
        let (records, failed) = await withCheckedContinuation { done in
            notes.load(["a", "bb", "missing"]) { done.resume(returning: ($0, $1)) }
        }
        #expect(
            Set(records.compactMap { $0["title"] as? String }) == ["a", "bb"]
                && records.allSatisfy { $0["length"] == nil })
        #expect(failed.mapValues { ($0 as? CKError)?.code } == ["missing": .unknownItem])
        let removed = await withCheckedContinuation { done in notes.remove("a") { id, _ in done.resume(returning: id) }
        }
        #expect(removed?.recordName == "a")
    }

    @Test func `a handler may change what it captured while the caller waits`() async throws {
        let note = try await container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
        let database = container.privateCloudDatabase
        let (found, missing) = await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(
                    returning: (
                        database.fetchBlocking(note.recordID).0?.recordID,
                        (database.fetchBlocking(CKRecord.ID(recordName: "missing")).1 as? CKError)?.code
                    ))
            }
        }
        #expect(found == note.recordID && missing == .unknownItem)
    }

    @Test func `an old app makes a zone and finds its own user record`() async throws {
        let zone = await withCheckedContinuation { done in
            notes.makeZone(named: "Old") { zone, _ in done.resume(returning: zone) }
        }
        #expect(zone?.zoneID == CKRecordZone.ID(zoneName: "Old") && zone?.capabilities.contains(.atomic) == true)
        let (user, status) = await withCheckedContinuation { done in notes.me { done.resume(returning: ($0, $1)) } }
        #expect(user?.recordType == CKRecord.SystemType.userRecord && status == .available)
    }

    @Test func `former zone options and predicates still compile and work`() {
        #expect(notes.zoneOptions(CKRecordZone.ID(zoneName: "Z"), since: nil, keys: ["a"]) == ["a"])
        let names = [
            NSPredicate(value: true), NSPredicate(format: "TRUEPREDICATE"),
            NSPredicate(format: "year > %d AND title BEGINSWITH %@", 1900, "a"),
        ].map(notes.subscriptionName)
        #expect(
            names == [
                "public-Note-TRUEPREDICATE", "public-Note-TRUEPREDICATE",
                "public-Note-year > 1900 AND title BEGINSWITH \"a\"",
            ])
    }

    @Test func `an app's operation prepares itself in main, and waits for its dependencies`() async throws {
        let log = Log()
        let queue = notes.queued { log.add($0) }
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                queue.waitUntilAllOperationsAreFinished()
                done.resume()
            }
        }
        #expect(log.lines == ["first starts", "first ends", "second starts", "second ends"])
    }

    @Test func `an operation cancelled before its start does not run main`() async throws {
        let log = Log()
        let operation = LoggingModify(label: "x", records: [])
        operation.log = { log.add($0) }
        operation.cancel()
        let error: Error? = await withCheckedContinuation { done in
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result {
                    done.resume(returning: error)
                } else {
                    done.resume(returning: nil)
                }
            }
            container.privateCloudDatabase.add(operation)
        }
        #expect((error as? CKError)?.code == .operationCancelled && log.lines == ["x is cancelled"])
    }
}

private final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [String] = []
    var lines: [String] { lock.withLock { all } }
    func add(_ line: String) { lock.withLock { all.append(line) } }
}
