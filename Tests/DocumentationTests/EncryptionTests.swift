import CloudKit
import CloudKitLocal
import Foundation
import Synchronization
import Testing

final class KeysOfTheApp: DeviceKeyStore {
    private let items = Mutex([String: Data]())  // here in memory: lost with the process

    func update(_ item: String, _ body: (inout Data?) -> Void) throws {
        items.withLock { body(&$0[item]) }
    }
}

/// The code of Documentation/Encryption.md.
@Suite struct EncryptionTests {
    @Test func `encrypted values are set and read like others`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let record = CKRecord(recordType: "Patient")
        record.encryptedValues["name"] = "Maria Ruiz"
        _ = try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        let name = fetched.encryptedValues["name"] as? String  // on every device of the account
        #expect(name == "Maria Ruiz")
    }

    @Test func `a program passes its own key store`() throws {
        var environment = CloudKitEnvironment()
        environment.keyStore = KeysOfTheApp()
        let store = try #require(environment.keyStore)
        try store.update("item") { $0 = Data([1]) }
        try store.update("item") { #expect($0 == Data([1])) }
        #expect(environment != CloudKitEnvironment())
    }
}
