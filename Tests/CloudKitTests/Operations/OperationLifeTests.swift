import CloudKit
import NephosWire
import Synchronization
import Testing

/// The life of an operation: the order of its callbacks, where they run, cancellation, dependencies.
@Suite struct OperationLifeTests {
    private static let ids = ["A", "B", "C"].map { CKRecord.ID(recordName: $0) }

    private func artworks() -> [CKRecord] { Self.ids.map { CKRecord(recordType: "Artwork", recordID: $0) } }

    /// An operation that tells when it is gone.
    private final class Watched: CKModifyRecordsOperation, @unchecked Sendable {
        // Unchecked, as its superclass is; set once, before the operation starts.
        var gone: (@Sendable () -> Void)?
        deinit { gone?() }
    }

    private func note(_ events: Events, of operation: CKModifyRecordsOperation) {
        operation.perRecordProgressBlock = { events.note("progress \($0.recordID.recordName) \($1)") }
        operation.perRecordSaveBlock = { events.note("save \($0.recordName) \($1.isSuccess)") }
        operation.perRecordDeleteBlock = { events.note("delete \($0.recordName) \($1.isSuccess)") }
        operation.modifyRecordsResultBlock = { result in
            switch result {
            case .success: events.note("result")
            case .failure(let error): events.note("result \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
    }

    @Test func `items come before the result, and the result before the completion block`() async {
        let events = Events()
        let operation = CKModifyRecordsOperation(
            recordsToSave: Array(artworks().prefix(2)), recordIDsToDelete: [Self.ids[2]])
        note(events, of: operation)
        await withCheckedContinuation { continuation in
            operation.completionBlock = {
                events.note("completion")
                continuation.resume()
            }
            ScriptedService().database.add(operation)
        }
        #expect(
            events.all == [
                "progress A 1.0", "save A true", "progress B 1.0", "save B true", "delete C true", "result",
                "completion",
            ])
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
        #expect(operation.isAsynchronous)
    }

    @Test func `callbacks run off the main thread and one at a time`() async {
        let running = Mutex(0)
        let faults = Mutex<[String]>([])
        @Sendable func enter() {
            if Thread.isMainThread { faults.withLock { $0.append("main thread") } }
            let others = running.withLock { running in
                running += 1
                return running - 1
            }
            if others > 0 { faults.withLock { $0.append("concurrent") } }
            running.withLock { $0 -= 1 }
        }
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: [])
        operation.perRecordProgressBlock = { _, _ in enter() }
        operation.perRecordSaveBlock = { _, _ in enter() }
        operation.modifyRecordsResultBlock = { _ in enter() }
        let database = ScriptedService().database
        await operation.finish { database.add(operation) }
        #expect(faults.withLock { $0 } == [])
    }

    @Test func `an operation cancelled before it starts sends nothing and reports it once`() async {
        let service = ScriptedService()
        let events = Events()
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: nil)
        note(events, of: operation)
        operation.cancel()
        await operation.finish { service.database.add(operation) }
        #expect(events.all == ["result 20"])
        #expect(service.requests.isEmpty)
        #expect(operation.isCancelled)
        #expect(operation.isFinished)
    }

    @Test func `an operation cancelled in its queue sends nothing and reports it once`() async {
        let service = ScriptedService()
        let events = Events()
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: nil)
        operation.database = service.database
        note(events, of: operation)
        let queue = OperationQueue()
        queue.isSuspended = true
        await operation.finish {
            queue.addOperation(operation)
            operation.cancel()
            queue.isSuspended = false
        }
        #expect(events.all == ["result 20"])
        #expect(service.requests.isEmpty)
    }

    @Test func `an operation cancelled while it runs reports it at once and is silent afterwards`() async {
        let gate = Gate()
        let service = ScriptedService(ScriptedService.Script(gate: gate))
        let events = Events()
        await withCheckedContinuation { gone in
            let operation = Watched(recordsToSave: artworks(), recordIDsToDelete: nil)
            operation.gone = { gone.resume() }
            note(events, of: operation)
            operation.completionBlock = { [weak operation] in
                events.note("completion \(operation?.isFinished ?? false)")
                // The answer comes when the operation is over already.
                gate.open()
            }
            service.database.add(operation)
            Task { [weak operation] in
                await gate.arrival()
                operation?.cancel()
                operation?.cancel()
            }
        }
        #expect(events.all == ["result 20", "completion true"])
    }

    @Test func `an operation cancelled between two items skips the rest`() async {
        let events = Events()
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: nil)
        note(events, of: operation)
        operation.perRecordSaveBlock = { [weak operation] recordID, _ in
            events.note("save \(recordID.recordName)")
            if recordID.recordName == "B" { operation?.cancel() }
        }
        operation.perRecordProgressBlock = nil
        let database = ScriptedService().database
        await operation.finish { database.add(operation) }
        #expect(events.all == ["save A", "save B", "result 20"])
    }

    @Test func `cancelling a finished operation has no effect`() async {
        let events = Events()
        let operation = CKModifyRecordsOperation(recordsToSave: [], recordIDsToDelete: nil)
        note(events, of: operation)
        let database = ScriptedService().database
        await operation.finish { database.add(operation) }
        operation.cancel()
        #expect(events.all == ["result"])
    }

    @Test func `an operation runs once`() async {
        let service = ScriptedService()
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: nil)
        operation.database = service.database
        await operation.finish { operation.start() }
        operation.start()
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
        #expect(service.modifications.count == 1)
    }

    @Test func `an operation waits for its dependencies`() async {
        let gate = Gate()
        let events = Events()
        let slow = ScriptedService(ScriptedService.Script(gate: gate))
        let quick = ScriptedService()
        let first = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: nil)
        first.modifyRecordsResultBlock = { _ in events.note("first") }
        let second = CKFetchRecordsOperation(recordIDs: Self.ids)
        second.fetchRecordsResultBlock = { _ in events.note("second") }
        second.addDependency(first)
        await second.finish {
            quick.database.add(second)
            slow.database.add(first)
            Task {
                await gate.arrival()
                #expect(quick.requests.isEmpty)
                gate.open()
            }
        }
        #expect(events.all == ["first", "second"])
    }

    @Test func `a finished operation releases its blocks`() async {
        final class Captured: Sendable {}
        weak var captured: Captured?
        let operation = CKModifyRecordsOperation(recordsToSave: artworks(), recordIDsToDelete: [Self.ids[0]])
        operation.recordIDsToDelete = nil
        do {
            let object = Captured()
            captured = object
            operation.perRecordProgressBlock = { _, _ in _ = object }
            operation.perRecordSaveBlock = { _, _ in _ = object }
            operation.perRecordDeleteBlock = { _, _ in _ = object }
            operation.modifyRecordsResultBlock = { _ in _ = object }
            operation.longLivedOperationWasPersistedBlock = { _ = object }
        }
        #expect(captured != nil)
        let database = ScriptedService().database
        await operation.finish { database.add(operation) }
        #expect(captured == nil)
        #expect(operation.modifyRecordsResultBlock == nil)
    }

    @Test func `operations have unique IDs`() {
        #expect(CKModifyRecordsOperation().operationID != CKModifyRecordsOperation().operationID)
        #expect(!CKModifyRecordsOperation().operationID.isEmpty)
    }

    @Test func `cancelling the task of an async call cancels its operation`() async {
        let gate = Gate()
        let service = ScriptedService(ScriptedService.Script(gate: gate))
        let task = Task { try await service.database.modifyRecords(saving: self.artworks(), deleting: []) }
        await gate.arrival()
        task.cancel()
        await expectFailure(.operationCancelled) { _ = try await task.value }
        gate.open()
    }

    @Test func `an async call in a cancelled task fails with operationCancelled`() async {
        let service = ScriptedService()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await service.database.record(for: Self.ids[0])
        }
        await expectFailure(.operationCancelled) { _ = try await task.value }
        #expect(service.lookups.isEmpty)
    }
}

extension Result {
    var isSuccess: Bool {
        if case .success = self { true } else { false }
    }

    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
