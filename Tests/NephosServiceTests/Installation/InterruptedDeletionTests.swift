import Foundation
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Deletions of accounts that a server began and did not end.
@Suite struct InterruptedDeletionTests {
    private let stores = TemporaryStores()
    private let root = AuditActor(name: "user 0")
    private static let containers = ["iCloud.a", "iCloud.b"]

    private func served(_ body: (Installation, TestCloud) async throws -> Void) async throws {
        let provider = try stores.open()
        let installation = try await Installation.open(provider)
        let cloud = TestCloud(ServiceConfiguration(), stores: provider)
        try await body(installation, cloud)
        await cloud.service.settle()
        await cloud.service.close()
        await installation.close()
        provider.close()
    }

    /// The public records of a container, by name.
    private func publicRecords(_ cloud: TestCloud, _ container: String) async throws -> [String] {
        try await cloud.service.queryRecords(
            QueryRecordsRequest(query: Query(recordType: "Note")), cloud.context(nil, .public, container: container)
        ).summary.sorted()
    }

    @Test(arguments: [false, true])
    func `the next server ends a deletion in all containers, as it was begun`(erasesPublicRecords: Bool) async throws {
        defer { stores.remove() }
        try await served { installation, cloud in
            for name in ["ada", "bob", "eve"] {
                let account = try await installation.createAccount(named: name, password: nil, by: root).id
                for container in Self.containers {
                    _ = try await cloud.service.modifyRecords(
                        ModifyRecordsRequest(operations: [.create("of \(name)")]),
                        cloud.context(account, .public, container: container))
                }
            }
            for name in ["ada", "eve"] {
                try await installation.beginDeletion(
                    ofAccountNamed: name, erasesPublicRecords: erasesPublicRecords && name == "ada", by: root)
            }
        }
        try await served { installation, cloud in
            let resuming = Task { await cloud.service.resumeDeletions(of: installation) }
            await eventually { (try? await installation.accounts(after: "").accounts.count) == 1 }
            resuming.cancel()
            await resuming.value
            let (left, interrupted) = (
                try await installation.accounts(after: "").accounts,
                try await installation.interruptedDeletions(atStart: true)
            )
            #expect(left.map(\.name) == ["bob"] && interrupted.isEmpty)
            await cloud.service.settle()
            for container in Self.containers {
                let stay = erasesPublicRecords ? ["of bob", "of eve"] : ["of ada", "of bob", "of eve"]
                let records = try await publicRecords(cloud, container)
                #expect(records == stay)
            }
        }
    }

    @Test func `a deletion is logged before it removes anything`() async throws {
        defer { stores.remove() }
        var account = ""
        try await served { installation, cloud in
            account = try await installation.createAccount(named: "ada", password: nil, by: root).id
            for container in Self.containers {
                _ = try await cloud.service.modifyRecords(
                    ModifyRecordsRequest(operations: [.create("a")]),
                    cloud.context(account, .public, container: container))
            }
        }
        try stores.edit(Self.containers[1]) { $0 = Data(repeating: 1, count: $0.count) }
        try await served { installation, cloud in
            await #expect(throws: ServiceError.self) {
                try await cloud.service.deleteAccount(named: "ada", of: installation, by: root)
            }
            #expect(cloud.log.all.contains("account deleted: \(account)"))
            let left = try await installation.accounts(after: "").accounts
            #expect(left.map(\.name) == ["ada"])
        }
    }

    @Test func `a running server takes a deletion for interrupted once it is old, or from the future`() async throws {
        let test = try await TestInstallation(failsForLog: false)
        _ = try await test.prepare()
        func interrupted() async throws -> [Bool] {
            [
                try await !test.installation.interruptedDeletions(atStart: true).isEmpty,
                try await !test.installation.interruptedDeletions(atStart: false).isEmpty,
            ]
        }
        #expect(try await interrupted() == [false, false])
        try await test.installation.beginDeletion(
            ofAccountNamed: "ada@example.org", erasesPublicRecords: false, by: root)
        #expect(try await interrupted() == [true, false])
        test.clock.advance(milliseconds: Limits.interruptedDeletion - 1)
        #expect(try await interrupted() == [true, false])
        test.clock.advance(milliseconds: 1)
        #expect(try await interrupted() == [true, true])
        test.clock.advance(milliseconds: -2 * Limits.interruptedDeletion)
        #expect(try await interrupted() == [true, true])
        await test.installation.close()
    }
}
