import Foundation
import NephosCrypto
import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Containers that an administrator deletes, over both engines.
@Suite(.oneAtATime) struct ContainerDeletionTests {
    private static let (deleted, other) = (DeletionServer.containers[0], DeletionServer.containers[1])
    private static let root = DeletionServer.root

    private final class Flag: Sendable {
        let isOver = Atomic(false)
    }

    /// What is left of the container in the place; empty for nothing.
    private func leftovers(_ server: DeletionServer) throws -> [String] {
        var left = try server.provider.existingStores().filter { $0.container == Self.deleted }.map(\.environment)
        left += server.place.files.names.filter {
            $0 == Self.deleted || $0.hasPrefix("\(Self.deleted)/") || $0.contains(".removed")
        }
        return left
    }

    @Test(arguments: DeletionPlace.kinds)
    func `a deleted container exists for nobody, and another with equal contents is untouched`(
        _ kind: DeletionPlace.Kind
    ) async throws {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            let content = try await server.delete(Self.deleted)
            #expect(content.map(\.environment) == ["development", "production"])
            #expect(content.allSatisfy { $0.isComplete && $0.accounts == [account] })
            #expect(
                await code { () async throws(ServiceError) in try await server.records(Self.deleted, account) } != nil)
            let known = try await server.service.stores.known()
            #expect(Set(known.map(\.container)) == [Self.other])
            try await server.waitForDeletions()
            #expect(try leftovers(server) == [])
            #expect(try await server.records(Self.other, account) == [30, 30])
            #expect(try await server.installation.containers() == [Self.other])
            #expect(try await server.installation.accounts(after: "").accounts.map(\.name) == ["ada"])
            let events = try await server.installation.audit(before: nil).events
            let ofContainer = events.filter { $0.object == Self.deleted }.map(\.event)
            #expect(Set(ofContainer) == ["container made", "container deletion begun", "container removed"])
            #expect(server.cloud.log.all.contains("container deleted: \(Self.deleted)"))
        }
    }

    @Test(arguments: DeletionPlace.kinds)
    func `a container of the same name is made once all is gone, and has nothing of the former`(
        _ kind: DeletionPlace.Kind
    ) async throws {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        let account = try await place.serving(isIdle: true) { server in
            let account = try await server.fill()
            _ = try await server.delete(Self.deleted)
            let made = await #expect(throws: ServiceError.self) {
                try await server.installation.createContainer(Self.deleted, by: Self.root)
            }
            #expect(made?.reason.contains("is being deleted") == true)
            let again = await #expect(throws: ServiceError.self) { try await server.delete(Self.deleted) }
            #expect(again?.reason.contains("is being deleted") == true)
            return account
        }
        place.clock.advance(milliseconds: Limits.interruptedDeletion)
        try await place.serving { server in
            try await server.waitForDeletions()
            #expect(await code { () async throws(ServiceError) in try await server.delete(Self.deleted) } == .notFound)
            try await server.service.createContainer(Self.deleted, of: server.installation, by: Self.root)
            let lost = await code { () async throws(ServiceError) in try await server.records(Self.deleted, account) }
            #expect(lost == .zoneNotFound)
            for environment in DeletionServer.environments {
                try await server.fill(Self.deleted, environment, account)
            }
            #expect(try await server.records(Self.deleted, account) == [30, 30])
            _ = try await server.delete(Self.deleted)
            try await server.waitForDeletions()
            #expect(try leftovers(server) == [])
            #expect(try await server.records(Self.other, account) == [30, 30])
        }
    }

    @Test(arguments: DeletionPlace.kinds, [0, 1, 2, 7, 15])
    func `another server ends a deletion that was killed after any piece`(
        _ kind: DeletionPlace.Kind, _ pieces: Int
    ) async throws {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        let account = try await place.serving(isIdle: true) { server in
            let account = try await server.fill()
            try await server.installation.beginDeletion(ofContainer: Self.deleted, by: Self.root)
            await server.service.stores.closeStores(of: Self.deleted)
            for _ in 0..<pieces {
                try await server.service.stores.removalPiece(of: Self.deleted, limit: 1)?.remove()
            }
            return account
        }
        place.clock.advance(milliseconds: Limits.interruptedDeletion)
        try await place.serving { server in
            await server.service.resume()
            _ = try await server.service.overview()
            try await server.waitForDeletions()
            #expect(try leftovers(server) == [])
            #expect(try await server.records(Self.other, account) == [30, 30])
        }
    }

    @Test(arguments: DeletionPlace.kinds)
    func `saves that run meanwhile end with an answer, and make no store anew`(_ kind: DeletionPlace.Kind) async throws
    {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            let flag = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for container in DeletionServer.containers {
                    group.addTask {
                        var number = 0
                        while !flag.isOver.load(ordering: .acquiring) {
                            number += 1
                            let context = server.cloud.context(account, container: container)
                            do {
                                try await server.save(["late-\(number)"], .init(zoneName: "Z"), context)
                            } catch let error as ServiceError {
                                let isAnswer =
                                    error.clientCode == .badContainer || error.clientCode == .serviceUnavailable
                                #expect(isAnswer && container == Self.deleted, "\(error)")
                                await Task.yield()
                            }
                        }
                    }
                }
                _ = try await server.delete(Self.deleted)
                try await server.waitForDeletions()
                flag.isOver.store(true, ordering: .releasing)
                try await group.waitForAll()
            }
            #expect(try leftovers(server) == [])
        }
    }

    @Test(arguments: DeletionPlace.kinds)
    func `polls and uploads under way end`(_ kind: DeletionPlace.Kind) async throws {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            let context = server.cloud.context(account, container: Self.deleted)
            let device = try await server.service.createToken(TokenRequest(apnsEnvironment: .development), context)
            let field = AssetField(recordName: "late", recordType: "Note", fieldName: "file")
            let token = try await server.service.assetUploads(AssetUploadRequest(tokens: [field]), context).firstToken()
            let upload = try await server.service.beginUpload(
                token, size: 9, container: Self.deleted, .development, requestID: "R")
            let poll = Task {
                try await server.service.nextNotification(token: device.apnsToken, receipt: .implied, context)
            }
            await eventually { server.service.waitingPolls == 1 }
            _ = try await server.delete(Self.deleted)
            #expect(try await poll.value == nil)
            try await server.waitForDeletions()
            try? await upload.append([UInt8](repeating: 7, count: 9))
            await #expect(throws: ServiceError.self) { _ = try await upload.finish() }
            #expect(try leftovers(server) == [])
        }
    }

    @Test(arguments: DeletionPlace.kinds)
    func `accounts are deleted while a container is`(_ kind: DeletionPlace.Kind) async throws {
        let place = DeletionPlace(kind: kind)
        defer { place.files.remove() }
        try await place.serving { server in
            _ = try await server.fill()
            _ = try await server.delete(Self.deleted)
            let deleting = Task {
                try await server.service.deleteAccount(named: "ada", of: server.installation, by: Self.root)
            }
            try await server.waitForDeletions()
            await eventually {
                place.clock.advance(milliseconds: Limits.credentialRecheck)
                return (try? await server.installation.accounts(after: "").accounts)?.isEmpty == true
            }
            _ = try await deleting.value
            await server.service.settle()
            #expect(try leftovers(server) == [])
        }
    }

    @Test func `the deletion of an account waits for a missing store, and an overview has it as not counted`()
        async throws
    {
        let place = DeletionPlace(kind: .files)
        defer { place.files.remove() }
        _ = try await place.serving { try await $0.fill() }
        let stores = DeletionServer.containers.flatMap { container in
            DeletionServer.environments.map { "\(container) \($0.rawValue)\n" }
        }
        try stores.joined().write(toFile: "\(place.files.path)/.stores", atomically: true, encoding: .utf8)
        let (there, away) = ("\(place.files.path)/\(Self.deleted)", "\(place.files.path)/.away")
        func delete(_ server: DeletionServer) async throws -> Result<AccountSummary, any Error> {
            let flag = Flag()
            let deleting = Task {
                defer { flag.isOver.store(true, ordering: .releasing) }
                return try await server.service.deleteAccount(named: "ada", of: server.installation, by: Self.root)
            }
            await eventually {
                place.clock.advance(milliseconds: Limits.credentialRecheck)
                return flag.isOver.load(ordering: .acquiring)
            }
            return await deleting.result
        }
        #expect(rename(there, away) == 0)
        try await place.serving(isIdle: true) { server in
            let result = try await delete(server)
            let error = #expect(throws: ServiceError.self) { try result.get() }
            #expect(error?.reason.contains("\(Self.deleted), development is missing") == true)
            let accounts = try await server.installation.accounts(after: "").accounts
            #expect(accounts.map(\.isBeingDeleted) == [true])
            let containers = try await server.service.overview(made: DeletionServer.containers).containers
            let lines = containers.map { "\($0.container) \($0.environment)\n" }
            #expect(lines == stores && containers.map(\.isComplete) == [false, false, true, true])
        }
        #expect(rename(away, there) == 0)
        try await place.serving(isIdle: true) { server in
            _ = try await delete(server).get()
            #expect(try await server.installation.accounts(after: "").accounts.isEmpty)
            let contents = try await server.service.overview().containers
            #expect(contents.allSatisfy { $0.accounts.isEmpty && $0.isComplete })
        }
    }

    // MARK: Two servers

    @Test(.overPostgreSQL) func `another server has no store of the container open when its rows are removed`()
        async throws
    {
        let place = DeletionPlace(kind: .postgresql)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            try await place.serving { second in
                #expect(try await second.records(Self.deleted, account) == [30, 30])
                _ = try await server.delete(Self.deleted)
                try await server.waitForDeletions()
                #expect(try leftovers(server) == [])
                #expect(second.service.openStores.allSatisfy { $0.id.container != Self.deleted })
                try await server.installation.createContainer(Self.deleted, by: Self.root)
                await eventually {
                    place.clock.advance(milliseconds: Limits.credentialRecheck)
                    return await code { () async throws(ServiceError) in try await second.records(Self.deleted, account)
                    }
                        == .zoneNotFound
                }
                #expect(try await second.records(Self.other, account) == [30, 30])
            }
        }
    }

    @Test(.overPostgreSQL) func `one server removes a container, and the one that it took over from nothing any more`()
        async throws
    {
        let place = DeletionPlace(kind: .postgresql)
        defer { place.files.remove() }
        try await place.serving(isIdle: true) { server in
            _ = try await server.fill()
            _ = try await server.delete(Self.deleted)
            let installation = server.installation
            func claim(_ worker: String) async throws -> Bool {
                try await installation.claimDeletion(ofContainer: Self.deleted, by: worker)
            }
            #expect(try await !claim("one"), "another server may have its stores open")
            place.clock.advance(milliseconds: Limits.containerDeletionNotice)
            #expect(try await claim("one"))
            #expect(try await !claim("two"))
            place.clock.advance(milliseconds: Limits.containerDeletionLease - 1)
            #expect(try await claim("one"), "the claim is renewed")
            place.clock.advance(milliseconds: Limits.containerDeletionLease - 1)
            #expect(try await !claim("two"))
            place.clock.advance(milliseconds: 1)
            #expect(try await claim("two"))
            #expect(try await !claim("one"))
            try await installation.endDeletion(ofContainer: Self.deleted, by: "one") { false }
            #expect(try await installation.containersBeingDeleted() == [Self.deleted])
            try await installation.endDeletion(ofContainer: Self.deleted, by: "two") { false }
            #expect(try await installation.containersBeingDeleted() == [])

            // The container made again keeps its tokens.
            try await installation.createContainer(Self.deleted, by: Self.root)
            let token = try await installation.createAPIToken(
                container: Self.deleted, environment: .development, name: "", origins: [], allowsSignIn: true,
                lifetime: nil, by: Self.root)
            #expect(try await !claim("one"))
            try await installation.endDeletion(ofContainer: Self.deleted, by: "one") { false }
            #expect(try await installation.apiTokenSummaries(container: Self.deleted).map(\.token) == [token.token])
        }
    }

    /// The server stops between finding a piece and removing it.
    @Test(.overPostgreSQL, arguments: [0, 1, 2, 40, 100, 1_000])
    func `a server that stopped amid a deletion removes nothing of the container made anew`(_ pieces: Int) async throws
    {
        let place = DeletionPlace(kind: .postgresql)
        defer { place.files.remove() }
        try await place.serving(isIdle: true) { stopped in
            let account = try await stopped.fill()
            try await stopped.installation.beginDeletion(ofContainer: Self.deleted, by: Self.root)
            place.clock.advance(milliseconds: Limits.containerDeletionNotice)
            #expect(try await stopped.installation.claimDeletion(ofContainer: Self.deleted, by: "stopped"))
            await stopped.service.stores.closeStores(of: Self.deleted)
            var (removed, found): (Int, RemovalPiece?) = (0, nil)
            while let piece = try await stopped.service.stores.removalPiece(of: Self.deleted, limit: 1) {
                found = piece
                if removed == pieces { break }
                #expect(try await stopped.installation.keepsDeletion(ofContainer: Self.deleted, by: "stopped"))
                try piece.remove()
                removed += 1
            }
            place.clock.advance(milliseconds: Limits.containerDeletionLease)
            try await place.serving { server in
                try await server.waitForDeletions()
                #expect(try leftovers(server) == [])
                try await server.service.createContainer(Self.deleted, of: server.installation, by: Self.root)
                for environment in DeletionServer.environments {
                    try await server.fill(Self.deleted, environment, account)
                }
                let files = place.files.names.filter { $0.contains("-") }
                // It goes on.
                try found?.remove()
                #expect(try await !stopped.installation.keepsDeletion(ofContainer: Self.deleted, by: "stopped"))
                #expect(try await server.records(Self.deleted, account) == [30, 30])
                #expect(try await server.records(Self.other, account) == [30, 30])
                #expect(place.files.names.filter { $0.contains("-") } == files)
                #expect(files.contains { $0.hasPrefix("\(Self.deleted)/") })
            }
        }
    }

    @Test(.overPostgreSQL) func `a server that was stopped meanwhile writes nothing to the store that it has open`()
        async throws
    {
        let place = DeletionPlace(kind: .postgresql)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            let id = StoreID(container: Self.deleted, environment: "development")
            try await place.serving(isIdle: true) { stopped in
                #expect(try await stopped.records(Self.deleted, account) == [30, 30])
                try await stopped.service.stores.using(id) { store in
                    _ = try await server.delete(Self.deleted)
                    try await server.waitForDeletions()
                    // Sent with the commit, and before it.
                    let job = JobRow(
                        kind: BackgroundJob.purgeZone.rawValue, zone: ZoneKey(owner: .everyone, id: 1), subject: "")
                    let refusals = [
                        await #expect(throws: StorageError.self) {
                            try await store.engine.write { try $0.insert(job) }
                        },
                        await #expect(throws: StorageError.self) {
                            try await store.engine.write(of: [.everyone]) { try $0.insert(job) }
                        },
                        await #expect(throws: StorageError.self) {
                            try await store.engine.write { try $0.insertRecordType("Late") }
                        },
                    ]
                    #expect(refusals.map { $0?.code } == [.removed, .removed, .removed])
                }
            }
            #expect(try leftovers(server) == [])
        }
    }

    /// The first request to a server that missed a deletion.
    enum FirstRequest: CaseIterable {
        case save, query, schema, lookup
    }

    @Test(.overPostgreSQL, arguments: FirstRequest.allCases)
    func `a server that was stopped meanwhile opens the container made anew`(first: FirstRequest) async throws {
        let place = DeletionPlace(kind: .postgresql)
        defer { place.files.remove() }
        try await place.serving { server in
            let account = try await server.fill()
            try await place.serving(isIdle: true) { stopped in
                #expect(try await stopped.records(Self.deleted, account) == [30, 30])
                // The store is not idle meanwhile.
                let id = StoreID(container: Self.deleted, environment: "development")
                try await stopped.service.stores.using(id) { _ in
                    _ = try await server.delete(Self.deleted)
                    try await server.waitForDeletions()
                    try await server.service.createContainer(Self.deleted, of: server.installation, by: Self.root)
                    for environment in DeletionServer.environments {
                        try await server.fill(Self.deleted, environment, account)
                    }
                }
                let context = stopped.cloud.context(account, container: Self.deleted)
                let nobody = stopped.cloud.context(nil, .public, container: Self.deleted)
                let refusal = await #expect(throws: ServiceError.self) {
                    switch first {
                    case .save: try await stopped.save(["late"], .init(zoneName: "Z"), context)
                    case .query:
                        let query = QueryRecordsRequest(query: Query(recordType: "Nothing"))
                        _ = try await stopped.service.queryRecords(query, nobody)
                    case .schema: _ = try await stopped.service.exportSchema(context)
                    case .lookup:
                        let lookup = LookupRecordsRequest(records: [.init(recordName: "nothing")])
                        _ = try await stopped.service.lookupRecords(lookup, nobody)
                    }
                }
                #expect(refusal == .containerDeleted)
                await eventually { (try? await stopped.records(Self.deleted, account)) == [30, 30] }
                try await stopped.save(["new"], .init(zoneName: "Z"), context)
                #expect(try await stopped.records(Self.other, account) == [30, 30])
            }
        }
    }
}
