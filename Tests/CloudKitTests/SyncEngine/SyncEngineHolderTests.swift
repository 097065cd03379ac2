import CloudKit
import CloudKitLocal
import Testing

/// References to a sync engine, and calls that await it.
@Suite struct SyncEngineHolderTests {
    @Test func `an engine without a reference ends`() async throws {
        weak var engine: CKSyncEngine?
        do {
            let one = SyncDevice()
            one.start(try CKContainer.local().privateCloudDatabase)
            try await one.engine.fetchChanges()
            engine = one.engine
            _ = one.stop()
        }
        #expect(engine == nil)
    }

    @Test(arguments: ["fetch", "send", "cancel"])
    func `awaiting the engine within a delegate's callback stops the program`(call: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [call] in
            try await Self.call(call, within: { try await $0() })
        }
        let words = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(words.contains("Cannot await a call into CKSyncEngine from within a delegate callback"), "\(words)")
    }

    @Test(arguments: ["fetch", "send", "cancel"])
    func `a task started in a delegate's callback may await the engine`(call: String) async throws {
        try await Self.call(call, within: { work in Task { try await work() } })
    }

    /// Lets a device call its engine in the way of `within` when it gets its first event, and another engine directly.
    private static func call(
        _ call: String, within: @escaping @Sendable (@escaping @Sendable () async throws -> Void) async throws -> Void
    ) async throws {
        let container = try CKContainer.local()
        let other = SyncDevice()
        other.start(container.privateCloudDatabase)
        let one = SyncDevice()
        one.start(container.privateCloudDatabase)
        let (answers, done) = AsyncStream.makeStream(of: Bool.self)
        let isFirst = Box(true)
        one.onEvent.value = { [engine = one.engine, otherEngine = other.engine] _ in
            guard isFirst.value else { return }
            isFirst.value = false
            do {
                try await otherEngine.fetchChanges()
                try await within {
                    switch call {
                    case "fetch": try await engine.fetchChanges()
                    case "send": try await engine.sendChanges()
                    default: await engine.cancelOperations()
                    }
                    done.yield(true)
                }
            } catch {
                done.yield(false)
            }
        }
        // A call that ends the engine's operations ends this one as well.
        do { try await one.engine.fetchChanges() } catch let error as CKError where error.code == .operationCancelled {}
        #expect(await answers.first { _ in true } == true)
    }
}
