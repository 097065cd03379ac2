import NephosWire
import Synchronization
import Testing

@testable import CloudKit

/// Requests that the service asked not to send yet.
@Suite struct ThrottleTests {
    private final class Clock: Sendable {
        let now = Mutex(Int64(0))
        func advance(seconds: Int64) { now.withLock { $0 += seconds * 1000 } }
    }

    private let clock = Clock()
    private let throttle: Throttle

    init() { throttle = Throttle { [clock] in clock.now.withLock { $0 } } }

    private func refusal(_ code: CKError.Code, _ seconds: Double?) -> ServiceFailure {
        .refused(
            ErrorDictionary(
                uuid: "", serverErrorCode: .throttled, reason: "", retryAfter: seconds, clientErrorCode: code.rawValue))
    }

    private func isHeldBack(_ endpoint: String) -> Double? {
        do throws(ServiceFailure) {
            try throttle.check(endpoint)
            return nil
        } catch {
            guard case .transport(_, _, let seconds) = error else { return nil }
            return seconds
        }
    }

    @Test func `requests of a throttled endpoint wait for its time, others go on`() {
        throttle.note(refusal(.requestRateLimited, 3), of: "records/modify")
        clock.advance(seconds: 1)
        #expect(isHeldBack("records/modify") == 2)
        #expect(isHeldBack("records/query") == nil)
        clock.advance(seconds: 2)
        #expect(isHeldBack("records/modify") == nil)
    }

    @Test func `a busy service is left alone, one that restarts is not`() {
        throttle.note(refusal(.serviceUnavailable, 30), of: "records/modify")
        throttle.note(refusal(.serviceUnavailable, 1), of: "records/query")
        throttle.note(.transport(.serviceUnavailable, "", retryAfter: 30), of: "zones/list")
        #expect(isHeldBack("records/modify") == 30)
        #expect(isHeldBack("records/query") == nil)
        #expect(isHeldBack("zones/list") == 30)
    }

    @Test func `other failures and times hold nothing back for long`() {
        throttle.note(refusal(.zoneBusy, 30), of: "a")
        throttle.note(refusal(.requestRateLimited, nil), of: "b")
        throttle.note(refusal(.requestRateLimited, -5), of: "c")
        throttle.note(refusal(.requestRateLimited, .nan), of: "d")
        throttle.note(.cancelled, of: "e")
        for endpoint in ["a", "b", "c", "d", "e"] { #expect(isHeldBack(endpoint) == nil, "\(endpoint)") }
        throttle.note(refusal(.requestRateLimited, .infinity), of: "f")
        #expect(isHeldBack("f") == 3600)
    }

    @Test func `a throttled operation is not sent again before its time`() async throws {
        let body = #"{"uuid":"U","serverErrorCode":"THROTTLED","reason":"slowly","retryAfter":60}"#
        let server = try CannedServer(CannedServer.response(429, body, headers: ["Retry-After: 60"]))
        defer { server.close() }
        let directory = ServiceDirectory()
        directory.setEnvironment(
            CloudKitEnvironment(
                url: try #require(URL(string: server.url)), account: .token("dev:ada"), apiToken: "any",
                name: .development))
        let database = directory.container("iCloud.org.example.Throttled").privateCloudDatabase
        for _ in 0..<2 {
            let error = await #expect(throws: CKError.self) {
                _ = try await database.record(for: CKRecord.ID(recordName: "note"))
            }
            #expect(error?.code == .requestRateLimited)
            #expect(59...60 ~= error?.retryAfterSeconds ?? 0)
        }
        // The account's devices are asked about beside it.
        #expect(server.requests.filter { $0.contains("/records/lookup") }.count == 1)
    }
}
