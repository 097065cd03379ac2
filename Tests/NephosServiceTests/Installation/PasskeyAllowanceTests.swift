import NephosCrypto
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// The bounds of attempts with passkeys from one network.
@Suite struct PasskeyAllowanceTests {
    private static let network: [UInt8] = [192, 0, 2, 7]

    private func signIn(
        _ handle: String, _ passkey: SoftwarePasskey, by signer: SoftwarePasskey? = nil, device: String? = nil,
        _ test: TestInstallation
    ) async throws -> Result<SignedIn, ServiceError> {
        let signed = try await test.request(handle).signed(passkey, by: signer)
        var request = SignIn(
            name: "", password: "", apiToken: nil, device: device, label: "browser", address: Self.network)
        request.startsBrowserSession = true
        do throws(ServiceError) {
            return .success(
                try await test.installation.signIn(by: signed, request, binding: TestInstallation.binding))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ result: Result<SignedIn, ServiceError>) -> ServerErrorCode? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func `a device from which an account signed in by a passkey before has an allowance of its own`() async throws
    {
        let test = try await TestInstallation(failsForLog: false, people: .withPasskeys())
        _ = try await test.prepare()
        _ = try await test.installation.createAccount(
            named: "bob", password: TestInstallation.password, by: TestInstallation.root)
        let (passkey, bobs, thief) = (try SoftwarePasskey(), try SoftwarePasskey(), try SoftwarePasskey())
        let handle = try await test.add(passkey, to: try await test.browser())
        let bobsHandle = try await test.add(bobs, to: try await test.browser("bob"))
        let device = try await signIn(handle, passkey, test).get().device
        let bobsDevice = try await signIn(bobsHandle, bobs, test).get().device
        for _ in 1...30 {
            #expect(code(try await signIn(handle, passkey, by: thief, test)) == .authenticationFailed)
        }
        #expect(code(try await signIn(handle, passkey, test)) == .throttled)
        // A device of another account is none of this one.
        for stranger in [bobsDevice, "x"] {
            #expect(code(try await signIn(handle, passkey, device: stranger, test)) == .throttled)
        }
        for expected in [ServerErrorCode.authenticationFailed, .throttled] {
            for _ in 1...(expected == .throttled ? 1 : 5) {
                #expect(code(try await signIn(bobsHandle, bobs, by: thief, device: bobsDevice, test)) == expected)
            }
        }
        for _ in 1...7 {
            let again = try await signIn(handle, passkey, device: device, test).get().device
            #expect(SecretToken(again)?.hash == SecretToken(device)?.hash)
        }
        await test.installation.close()
    }
}
