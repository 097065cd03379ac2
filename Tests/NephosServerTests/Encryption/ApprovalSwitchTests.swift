import Foundation
import Testing

@testable import CloudKit

/// `nephos dev` that is started again with `--require-approval`, or without it, over the same data.
@Suite final class ApprovalSwitchTests {
    private static let containers = ["iCloud.org.example.One", "iCloud.org.example.Two"]
    private static let accounts = ["mei", "tom"]
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("switch-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// An account's app on its device, as it has just begun.
    private struct App {
        var account: String
        var database: CKDatabase
        var keys: AccountDevices

        func save(_ name: String) async throws {
            let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record.encryptedValues["text"] = "\(account)'s \(name)"
            try await database.save(record)
        }

        func checkReads(_ name: String) async throws {
            let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
            #expect(record.encryptedValues["text"] == "\(account)'s \(name)")
        }
    }

    private func app(_ account: String, _ container: String, _ port: UInt16, device: String = "phone") throws -> App {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let environment = CloudKitEnvironment(
            url: url, account: .token("dev:\(account)"),
            keyDirectory: directory.appendingPathComponent("\(account)-\(device)"))
        return App(
            account: account,
            database: CKContainer(identifier: container, service: environment.service(of: container))
                .privateCloudDatabase, keys: AccountDevices(container: container, environment))
    }

    /// Runs the server, and calls `body` for each account in each container.
    private func serve(_ options: String..., body: (App) async throws -> Void) async throws {
        let data = directory.appendingPathComponent("data").path
        let server = try StartedNephos(["dev"] + options + ["--data", data, "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        for account in Self.accounts {
            for container in Self.containers { try await body(try app(account, container, port)) }
        }
        #expect(try await server.stop().status == 0)
    }

    @Test func `devices keep their own keys when approval is no longer required`() async throws {
        try await serve("--require-approval") { app in
            try await app.database.save(CKRecordZone(zoneID: Self.zoneID))
            try await app.save("a")
        }
        try await serve { app in
            try await app.checkReads("a")
            try await app.save("b")
            #expect(try await app.keys.list().map(\.isThis) == [true])
        }
        try await serve("--require-approval") { app in
            try await app.checkReads("a")
            try await app.checkReads("b")
        }
    }

    @Test func `keys that the server keeps are there again once it is started without the option`() async throws {
        try await serve { app in
            try await app.database.save(CKRecordZone(zoneID: Self.zoneID))
            try await app.save("a")
        }
        try await serve("--require-approval") { app in
            let error = await #expect(throws: CKError.self) { try await app.checkReads("a") }
            #expect(error?.code == .accountTemporarilyUnavailable)
            #expect(error?.localizedDescription.contains("restart it without --require-approval") == true)
        }
        try await serve { try await $0.checkReads("a") }
        // One account gets keys of its own.
        try await serve("--require-approval") { app in
            guard app.account == "mei" else { return }
            try await app.keys.reset()
            try await app.database.save(CKRecordZone(zoneID: Self.zoneID))
            try await app.save("b")
        }
        try await serve { try await $0.checkReads($0.account == "mei" ? "b" : "a") }
        try await serve("--require-approval") { app in
            if app.account == "mei" { try await app.checkReads("b") }
        }
    }
}
