import CloudKitLocal
import NephosSQLite
import NephosServer
import NephosService
import NephosWire
import Testing

@testable import CloudKit

/// How a test reaches the service. What holds must hold both ways.
enum Transport: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case inProcess, http

    var testDescription: String { rawValue }
}

/// A new cloud in memory behind one of the transports, with as many accounts and containers as a test wants.
final class Cloud: Sendable {
    private enum Backing: Sendable {
        case inProcess(LocalCloud)
        case http(NephosService, HTTPServer)
    }

    private let backing: Backing

    private init(_ transport: Transport) throws {
        switch transport {
        case .inProcess:
            backing = .inProcess(try LocalCloud())
        case .http:
            let service = NephosService(stores: MemoryStores())
            let responder = Responder(service)
            let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
            backing = .http(service, server)
        }
    }

    /// Runs `body` with a cloud, and closes it afterwards.
    static func with(_ transport: Transport, _ body: (Cloud) async throws -> Void) async throws {
        let cloud = try Cloud(transport)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(cloud))
        } catch {
            result = .failure(error)
        }
        switch cloud.backing {
        case .inProcess(let local): await local.close()
        case .http(let service, let server):
            service.endPolls()
            await server.stop()
            await service.close()
        }
        try result.get()
    }

    func container(
        _ account: String? = "me", _ identifier: String = "iCloud.org.example.App",
        environment: CloudKitEnvironment.Name = .development
    ) -> CKContainer {
        switch backing {
        case .inProcess(let local):
            return local.container(identifier, account: account, environment: environment)
        case .http(_, let server):
            let url = URL(string: "http://127.0.0.1:\(server.port)") ?? CloudKitEnvironment.localURL
            let environment = CloudKitEnvironment(
                url: url, account: account.map { .token("dev:\($0)") } ?? .none, name: environment)
            return CKContainer(identifier: identifier, service: environment.service(of: identifier))
        }
    }

    /// The private database of an account.
    func database(_ account: String? = "me") -> CKDatabase { container(account).privateCloudDatabase }

    /// Makes a text the schema of the container in development, and where asked to, adds it to production's.
    func importSchema(_ text: String, deploys: Bool = false) async throws {
        let container = "iCloud.org.example.App"
        switch backing {
        case .inProcess(let local):
            try await local.importSchema(text, into: container)
            if deploys { try await local.deploySchema(of: container) }
        case .http(let service, _):
            let context = RequestContext(
                container: container, environment: .development, scope: .public, account: nil, requestID: "schema")
            #expect(try await service.importSchema(text, context).findings == [])
            if deploys { #expect(try await service.deploySchema(context).findings == []) }
        }
    }

    /// Forgets every deletion, as time does.
    func forgetDeletions() async throws {
        switch backing {
        case .inProcess(let local): try await local.forgetDeletions()
        case .http(let service, _): try await service.forgetDeletions(before: .max)
        }
    }

    /// Returns once what goes on in the background is done.
    func settle() async {
        switch backing {
        case .inProcess(let local): await local.settle()
        case .http(let service, _): await service.settle()
        }
    }
}

extension CKDatabase {
    /// Saves a zone and hands back the ID that its records need.
    func zone(_ name: String) async throws -> CKRecordZone.ID {
        try await save(CKRecordZone(zoneName: name)).zoneID
    }

    /// Saves everything in one batch, and fails if one record does.
    @discardableResult
    func saveAll(
        _ records: some Collection<CKRecord>,
        _ policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
    ) async throws -> [CKRecord] {
        let results = try await modifyRecords(saving: Array(records), deleting: [], savePolicy: policy).saveResults
        return try records.compactMap { try results[$0.recordID]?.get() }
    }

    /// Which of the records are there.
    func existing(_ records: some Collection<CKRecord>) async throws -> [String] {
        let results = try await self.records(for: records.map(\.recordID))
        return records.filter { (try? results[$0.recordID]?.get()) != nil }.map(\.recordID.recordName)
    }
}

/// A record of the type `Note` (or another) with a name, in a zone.
func note(_ name: String, in zone: CKRecordZone.ID = .default, _ type: String = "Note") -> CKRecord {
    CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zone))
}

extension CKRecordZone.Capabilities {
    /// What the service can do with a custom zone.
    static var ofCustomZones: Self {
        [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
    }
}

extension CKRecord {
    /// This record, after it was made to refer to `target` under `key`.
    func owned(by target: CKRecord, _ action: CKRecord.ReferenceAction = .deleteSelf, key: String = "owner") -> CKRecord
    {
        self[key] = CKRecord.Reference(record: target, action: action)
        return self
    }
}
