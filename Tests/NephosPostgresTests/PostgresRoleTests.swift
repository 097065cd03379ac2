import Dispatch
import Foundation
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosThreads
import Synchronization
import Testing

@testable import NephosPostgres

/// The documented role: no superuser, with the right to make schemas in its database.
@Suite(.overPostgreSQL) struct PostgresRoleTests {
    @Test func `a role that may create schemas can use stores, and finds those with work`() async throws {
        let name = "role_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        try admin.execute("CREATE ROLE \(name) LOGIN; GRANT CREATE ON DATABASE postgres TO \(name)")
        admin.close()
        let address = try PostgresAddress(text.replacing("user=nephos", with: "user=\(name)"))
        let stores = try PostgresStores(address, options: TestCluster.options(connections: 2))
        let (idle, busy) = (TestCluster.newStore(), TestCluster.newStore())
        for id in [idle, busy] {
            let engine = try stores.open(id)
            let zone = try await engine.write { transaction in
                try transaction.insertZone(owner: .everyone, name: "Z", sequence: transaction.nextSequence()).key
            }
            if id == busy { try await engine.write { try $0.insert(JobRow(kind: "k", zone: zone, subject: "s")) } }
            await engine.close()
        }
        #expect(try stores.storesWithWork() == [busy])
        #expect(try stores.existingStores() == [idle, busy])
        stores.close()
    }

    @Test func `a role that may not make tables is refused with the privilege that it lacks`() throws {
        let name = "role_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        try admin.execute("CREATE ROLE \(name) LOGIN")
        admin.close()
        let address = try PostgresAddress(text.replacing("user=nephos", with: "user=\(name)"))
        let options = TestCluster.options(connections: 2)
        let error = #expect(throws: StorageError.self) { try PostgresStores(address, options: options) }
        #expect(error?.code == .constraint)
        #expect(error?.message.contains("GRANT CREATE ON DATABASE postgres TO \(name)") == true, "\(error as Any)")

        // Nor may it change those of an earlier version.
        let owned = try PostgresConnection(try PostgresAddress(text), options, damage: nil)
        try ServerChecks.refuseMigration(owned, options, isFirst: true)
        owned.close()
        try PostgresStores(try PostgresAddress(text), options: options).close()
        let other = try PostgresConnection(address, options, damage: nil)
        let refusal = #expect(throws: StorageError.self) {
            try ServerChecks.refuseMigration(other, options, isFirst: false)
        }
        other.close()
        #expect(refusal?.message.contains("owner, nephos") == true, "\(refusal as Any)")
    }

    @Test func `a role that may only read and write uses tables that another made`() async throws {
        let name = "role_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let options = TestCluster.options(connections: 2)
        try PostgresStores(try PostgresAddress(text), options: options).close()
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        // As Documentation/PostgreSQL.md has it.
        try admin.execute(
            """
            CREATE ROLE \(name) LOGIN;
            GRANT USAGE ON SCHEMA \(options.prefix) TO \(name);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(options.prefix) TO \(name);
            GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA \(options.prefix) TO \(name);
            """)
        admin.close()
        let stores = try PostgresStores(
            try PostgresAddress(text.replacing("user=nephos", with: "user=\(name)")), options: options)
        let engine = try stores.open(TestCluster.newStore())
        for number in 0..<5 {
            _ = try await engine.write { transaction in
                try transaction.insertZone(owner: .everyone, name: "Z\(number)", sequence: transaction.nextSequence())
            }
        }
        #expect(try await engine.read { try $0.zones(owner: .everyone).count } == 5)
        await engine.close()
        stores.close()
    }

    /// Makes the tables, and a role with every privilege of them.
    /// - Returns: the role's name and address, and a connection of the tables' owner.
    private func grantedRole(
        _ options: PostgresOptions
    ) throws -> (name: String, address: PostgresAddress, admin: PostgresConnection) {
        let name = "role_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        try PostgresStores(try PostgresAddress(text), options: options).close()
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        try admin.execute(
            """
            CREATE ROLE \(name) LOGIN;
            GRANT USAGE ON SCHEMA \(options.prefix) TO \(name);
            GRANT ALL ON ALL TABLES IN SCHEMA \(options.prefix) TO \(name);
            GRANT ALL ON ALL SEQUENCES IN SCHEMA \(options.prefix) TO \(name);
            """)
        return (name, try PostgresAddress(text.replacing("user=nephos", with: "user=\(name)")), admin)
    }

    @Test func `the error of a role that may not use the schema, or its tables, has the remedy`() throws {
        let options = TestCluster.options(connections: 1)
        let (name, address, admin) = try grantedRole(options)
        try admin.execute("REVOKE ALL ON SCHEMA \(options.prefix) FROM \(name)")
        admin.close()
        let errors = [
            #expect(throws: StorageError.self) { try PostgresStores(address, options: options).close() },
            #expect(throws: StorageError.self) {
                _ = try PostgresInspection(address, assets: .objects("s3://files"), options: options)
            },
        ]
        #expect(errors.allSatisfy { $0?.message.contains("Least privilege") == true })
    }

    @Test(arguments: [("INSERT ON record", "TABLE"), ("UPDATE ON change_sequence", "SEQUENCE")])
    func `a role without a privilege is refused by its name, at the start and in a check`(
        _ missing: String, _ kind: String
    ) throws {
        let options = TestCluster.options(connections: 1)
        let (name, address, admin) = try grantedRole(options)
        let words = missing.split(separator: " ")
        try admin.execute("REVOKE \(words[0]) ON \(kind) \(options.prefix).\(words[2]) FROM \(name)")
        admin.close()
        let place = AssetPlace.objects("s3://files")
        let errors = [
            #expect(throws: StorageError.self) { try PostgresStores(address, options: options).close() },
            #expect(throws: StorageError.self) { _ = try PostgresInspection(address, assets: place, options: options) },
        ]
        for error in errors {
            #expect(
                error?.code == .constraint && error?.message.contains(missing) == true, "\(String(describing: error))")
        }
    }

    @Test func `only a role that owns the tables is said to erase deleted rows`() throws {
        let options = TestCluster.options(connections: 1)
        let (name, address, admin) = try grantedRole(options)
        admin.close()
        let owner = try PostgresStores(try TestCluster.address.get(), options: options)
        try owner.checkErasesDeletedRows()
        owner.close()
        let stores = try PostgresStores(address, options: options)
        let error = #expect(throws: StorageError.self) { try stores.checkErasesDeletedRows() }
        #expect(error?.code == .constraint && error?.message.contains("the owner of the tables, nephos") == true)
        #expect(error?.message.contains("not as \(name)") == true)
        stores.close()
    }

    @Test func `the first account of each store is known without opening it`() async throws {
        let stores = try PostgresStores(try TestCluster.address.get(), options: TestCluster.options(connections: 1))
        var expected: [StoreID: String] = [:]
        for names in [["mei", "tom"], [], ["gone", "ada"], ["gone"]] {
            let id = TestCluster.newStore()
            let engine = try stores.open(id)
            for name in names {
                let account = try await engine.write {
                    try $0.insertAccount(name: name, userRecordName: "_\(name)")
                }
                if name == "gone" { try await engine.write { try $0.markAccountDeleted(id: account.id) } }
            }
            expected[id] = names.first { $0 != "gone" }
            await engine.close()
        }
        #expect(try stores.firstAccountNames() == expected)
        stores.close()
    }

    @Test(arguments: [("53100", true), ("53200", false)])
    func `a full disk of the server is told apart`(state: String, isDiskFull: Bool) {
        #expect(PostgresError(state: state, message: "").storageError(while: "").isDiskFull == isDiskFull)
    }

    @Test func `a store whose role lost a privilege is not ready`() async throws {
        let options = TestCluster.options(connections: 2)
        let (name, address, admin) = try grantedRole(options)
        let stores = try PostgresStores(address, options: options)
        let engine = try stores.open(TestCluster.newStore())
        try await engine.write { try $0.testWriting() }
        try admin.execute("REVOKE INSERT ON ALL TABLES IN SCHEMA \(options.prefix) FROM \(name)")
        let error = await #expect(throws: StorageError.self) { try await engine.write { try $0.testWriting() } }
        #expect(error?.code == .inputOutput)
        try admin.execute("GRANT INSERT ON ALL TABLES IN SCHEMA \(options.prefix) TO \(name)")
        try await engine.write { try $0.testWriting() }
        await engine.close()
        stores.close()
        admin.close()
    }
}
