import Foundation
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import CloudKit

/// The service of one account.
@Suite struct AccountServiceTests {
    private static func code(_ body: () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch {
            guard case .transport(let code, _, _)? = error as? ServiceFailure else { return .internalError }
            return code
        }
    }

    @Test(.timeLimit(.minutes(15))) func `running transfers end with the account`() async {
        let held = HeldTransfers()
        let service = AccountService(held)
        let call = ServiceCall(scope: .private)
        let file = URL(fileURLWithPath: "/dev/null")
        async let upload = Self.code {
            _ = try await service.upload(AssetContent(file: file, size: 1, key: nil), to: "/", call) { _ in }
        }
        async let download = Self.code { try await service.download("/", to: file, call) { _ in } }
        await held.untilBegun(2)
        service.end()
        #expect(await upload == .operationCancelled)
        #expect(await download == .operationCancelled)
        #expect(await Self.code { try await service.download("/", to: file, call) { _ in } } == .operationCancelled)
        #expect(held.begun == 2)
    }

    @Test(.timeLimit(.minutes(15))) func `a cancelled caller cancels only its own transfer`() async {
        let held = HeldTransfers()
        let service = AccountService(held)
        let call = ServiceCall(scope: .private)
        let file = URL(fileURLWithPath: "/dev/null")
        let task = Task { await Self.code { try await service.download("/", to: file, call) { _ in } } }
        async let other = Self.code { try await service.download("/", to: file, call) { _ in } }
        await held.untilBegun(2)
        task.cancel()
        // `ServiceFailure.cancelled` has no code.
        #expect(await task.value == .internalError)
        #expect(!service.hasEnded)
        service.end()
        #expect(await other == .operationCancelled)
    }

    @Test func `no request of an ended account is sent`() async {
        let service = AccountService(ScriptedService())
        let call = ServiceCall(scope: .private)
        #expect(await Self.code { _ = try await service.send(.currentUser, call) } == nil)
        service.end()
        let requests: [() async throws -> Void] = [
            { _ = try await service.send(.modifyRecords, ModifyRecordsRequest(operations: []), call) },
            { _ = try await service.send(.lookupRecords, LookupRecordsRequest(records: []), call) },
            { _ = try await service.send(.listZones, call) },
            { _ = try await service.send(.lookupZones, LookupZonesRequest(zones: []), call) },
            { _ = try await service.send(.modifyZones, ModifyZonesRequest(operations: []), call) },
            { _ = try await service.send(.currentUser, call) },
            { _ = try await service.send(.accountKeys, EmptyKeysRequest(), call) },
            { _ = try await service.send(.resetKeys, EmptyKeysRequest(), call) },
            { _ = try await service.send(.listSubscriptions, call) },
            { _ = try await service.send(.createToken, TokenRequest(apnsEnvironment: .development), call) },
        ]
        for request in requests { #expect(await Self.code(request) == .operationCancelled) }
    }
}

/// Transfers files until it is cancelled.
private final class HeldTransfers: PartialService {
    private let count = Mutex(0)

    var begun: Int { count.withLock { $0 } }

    func untilBegun(_ number: Int) async {
        await eventually { begun >= number }
    }

    private func hold() async throws(ServiceFailure) {
        count.withLock { $0 += 1 }
        while !Task.isCancelled { await Task.yield() }
        throw .cancelled
    }

    func upload(
        _: AssetContent, to _: String, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) -> UploadedFile {
        try await hold()
        throw .cancelled
    }

    func download(
        _: String, to _: URL, _: ServiceCall, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceFailure) { try await hold() }
}
