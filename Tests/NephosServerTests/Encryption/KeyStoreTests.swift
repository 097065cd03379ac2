import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// Devices whose program stores their keys, with a server without keys in its own process.
@Suite final class KeyStoreTests {
    private static let identifier = "iCloud.org.example.Stores"
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("stores-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Keeps keys in memory, as a program might that has them from elsewhere.
    private final class Store: DeviceKeyStore {
        struct Locked: Error, CustomStringConvertible { var description: String { "the vault is locked" } }

        private let state = Mutex((items: [String: Data](), updates: 0, good: Int.max))

        /// How many updates go well from now on.
        func fail(after updates: Int) { state.withLock { $0.good = $0.updates + updates } }
        var items: [String: Data] { state.withLock { $0.items } }

        func update(_ item: String, _ body: (inout Data?) -> Void) throws {
            try state.withLock { state in
                state.updates += 1
                guard state.updates <= state.good else { throw Locked() }
                var data = state.items[item]
                body(&data)
                // As a store that begins again.
                if state.updates.isMultiple(of: 2) {
                    data = state.items[item]
                    body(&data)
                }
                state.items[item] = data
            }
        }
    }

    private func startServer() async throws -> (StartedNephos, UInt16) {
        let server = try StartedNephos(["dev", "--require-approval", "--in-memory", "--port", "0"])
        return (server, try readyPort(try await server.readyLine()))
    }

    /// A container as a process has it that has just begun.
    private func app(_ account: String, _ store: Store, _ port: UInt16) throws -> CKContainer {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let environment = CloudKitEnvironment(
            url: url, account: .token("dev:\(account)"), keyDirectory: directory, keyStore: store)
        return CKContainer(
            identifier: Self.identifier, service: environment.service(of: Self.identifier))
    }

    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")

    private func record(_ name: String, _ text: String) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: Self.zoneID))
        record.encryptedValues["text"] = text
        return record
    }

    private func text(_ database: CKDatabase, in zoneID: CKRecordZone.ID = zoneID) async throws -> String? {
        try await database.record(for: CKRecord.ID(recordName: "a", zoneID: zoneID)).encryptedValues["text"] as? String
    }

    private func failure(_ body: () async throws -> Void) async -> CKError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CKError
        }
    }

    @Test func `two devices keep their keys in the program's stores, and none in files`() async throws {
        let (server, port) = try await startServer()
        let (first, second) = (Store(), Store())
        let phone = try app("mei", first, port)
        _ = try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        _ = try await phone.privateCloudDatabase.save(record("a", "secret"))
        let laptop = try app("mei", second, port)
        #expect(
            await failure { _ = try await self.text(laptop.privateCloudDatabase) }?.code
                == .accountTemporarilyUnavailable)
        let code = try #require(try await laptop.deviceCode())
        #expect(await failure { try await phone.approveDevice(code: "AAAA") }?.code == .invalidArguments)
        try await phone.approveDevice(code: code)
        #expect(try await text(laptop.privateCloudDatabase) == "secret")
        #expect(try await laptop.deviceCode() == nil)
        #expect(try await text(try app("mei", first, port).privateCloudDatabase) == "secret", "of the next process")
        let recovery = try await laptop.makeRecoveryKey()
        let third = try app("mei", Store(), port)
        #expect(await failure { try await third.recoverDevice(key: recovery + "A") }?.code == .invalidArguments)
        try await third.recoverDevice(key: recovery)
        #expect(try await text(third.privateCloudDatabase) == "secret")
        #expect(first.items.count == 1 && first.items != second.items)
        #expect(first.items.keys.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9.]{1,64}/) != nil })
        #expect(!FileManager.default.fileExists(atPath: directory.path), "the store goes before the directory")
        #expect(try await server.stop().status == 0)
    }

    @Test func `a store that throws denies the device its keys, and no new keys replace them`() async throws {
        let (server, port) = try await startServer()
        let store = Store()
        let phone = try app("mei", store, port).privateCloudDatabase
        _ = try await phone.save(CKRecordZone(zoneID: Self.zoneID))
        store.fail(after: 0)
        let error = await failure { _ = try await phone.save(self.record("a", "secret")) }
        #expect(error?.code == .accountTemporarilyUnavailable)
        #expect("\(String(describing: error))".contains("the vault is locked"))
        #expect(store.items.isEmpty)
        store.fail(after: .max / 2)
        _ = try await phone.save(record("a", "secret"))
        let kept = store.items
        store.fail(after: 0)
        let again = try app("mei", store, port)
        #expect(
            await failure { _ = try await self.text(again.privateCloudDatabase) }?.code
                == .accountTemporarilyUnavailable)
        #expect(store.items == kept)
        store.fail(after: .max / 2)
        #expect(try await text(again.privateCloudDatabase) == "secret")
        #expect(try await server.stop().status == 0)
    }

    @Test func `another account's device list is not trusted until it can be verified`() async throws {
        let (server, port) = try await startServer()
        let (owners, guests) = (Store(), Store())
        let owner = try app("mei", owners, port)
        _ = try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        let root = record("a", "secret")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        for result in try await owner.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
            .saveResults.values
        { _ = try result.get() }
        let guest = try app("ana", guests, port)
        let accepted = try await guest.accept(try await guest.shareMetadata(for: try #require(share.url)))
        let zoneID = accepted.recordID.zoneID
        #expect(try await text(guest.sharedCloudDatabase, in: zoneID) == "secret")
        // The device's own keys take two updates.
        let again = try app("ana", guests, port)
        guests.fail(after: 2)
        #expect(
            await failure { _ = try await self.text(again.sharedCloudDatabase, in: zoneID) }?.code
                == .accountTemporarilyUnavailable)
        guests.fail(after: .max / 2)
        #expect(try await text(again.sharedCloudDatabase, in: zoneID) == "secret")
        #expect(try await server.stop().status == 0)
    }
}
