import Foundation
import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

/// Which certificates of a service the library trusts.
@Suite struct CertificateTests {
    private static let zones = #"{"zones": []}"#

    private func service(
        at server: TLSServer, trusting authority: TestAuthority?, host: String = "127.0.0.1"
    ) throws -> any CloudService {
        let url = try #require(URL(string: server.url.replacingOccurrences(of: "127.0.0.1", with: host)))
        return CloudKitEnvironment(
            url: url, account: .token("dev:mei"), certificateAuthorities: authority?.certificate
        ).service(of: "iCloud.org.example.App")
    }

    private func failure(_ service: any CloudService) async throws -> String {
        let error = try await #require(throws: ServiceFailure.self) {
            _ = try await service.send(.listZones, ServiceCall(scope: .private))
        }
        guard case .transport(let code, let text, _) = error else { return "\(error)" }
        #expect(code == .networkFailure)
        return text
    }

    @Test func `a certificate is trusted if the file has its authority`() async throws {
        let authority = try TestAuthority()
        let server = try TLSServer(authority, answer: Self.zones)
        let service = try service(at: server, trusting: authority)
        #expect(try await service.send(.listZones, ServiceCall(scope: .private)).zones.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a certificate of another authority is not trusted`(hasFile: Bool) async throws {
        let server = try TLSServer(try TestAuthority(), answer: Self.zones)
        let other = hasFile ? try TestAuthority() : nil
        let text = try await failure(service(at: server, trusting: other))
        #expect(text.hasPrefix("The service's certificate is not trusted: \(server.url), "))
        #expect(text.contains("unable to get local issuer certificate"))
        #expect(text.contains("NEPHOS_CA_FILE"))
    }

    @Test func `a certificate whose time is over is not trusted`() async throws {
        let authority = try TestAuthority()
        let server = try TLSServer(authority, days: -1, answer: Self.zones)
        let text = try await failure(service(at: server, trusting: authority))
        #expect(text.contains("certificate has expired"))
    }

    @Test func `a certificate of another host is not trusted`() async throws {
        let authority = try TestAuthority()
        let server = try TLSServer(authority, name: "DNS:cloud.example.org", answer: Self.zones)
        let text = try await failure(service(at: server, trusting: authority))
        #expect(text.contains("no alternative certificate subject name matches"))
        let named = try TLSServer(authority, name: "DNS:localhost", answer: Self.zones)
        let local = try service(at: named, trusting: authority, host: "localhost")
        #expect(try await local.send(.listZones, ServiceCall(scope: .private)).zones.isEmpty)
    }

    @Test func `a redirect to another server is checked against the system's authorities`() async throws {
        let authority = try TestAuthority()
        let elsewhere = try TLSServer(authority, answer: Self.zones)
        let server = try CannedServer(
            CannedServer.response(302, "", headers: ["Location: \(elsewhere.url)/elsewhere"]))
        defer { server.close() }
        let service = CloudKitEnvironment(
            url: try #require(URL(string: server.url)), certificateAuthorities: authority.certificate
        ).service(of: "iCloud.org.example.App")
        #expect(try await failure(service).contains("unable to get local issuer certificate"))
    }

    @Test func `a file that is missing or has no certificate is refused before any request`() async throws {
        let files = try TestFiles()
        let empty = try files.file("no certificate\n")
        let missing = files.folder.appendingPathComponent("missing.pem")
        for (file, reason) in [(empty, "it has no certificate"), (missing, "No such file or directory")] {
            let error = try #require(throws: CloudKitEnvironment.Invalid.self) {
                _ = try CloudKitEnvironment(variables: ["NEPHOS_CA_FILE": file.path])
            }
            #expect(error.description.hasPrefix("NEPHOS_CA_FILE is \"\(file.path)\": "))
            #expect(error.description.contains(reason))
            let directory = ServiceDirectory()
            directory.setEnvironment(CloudKitEnvironment(certificateAuthorities: file))
            let database = directory.container("iCloud.org.example.App").privateCloudDatabase
            let failure = await expectFailure(.badContainer) { _ = try await database.allRecordZones() }
            #expect(failure?.localizedDescription.contains(reason) == true)
        }
        let authority = try TestAuthority()
        let environment = try CloudKitEnvironment(variables: ["NEPHOS_CA_FILE": authority.certificate.path])
        #expect(environment.certificateAuthorities?.path == authority.certificate.path)
    }
}
