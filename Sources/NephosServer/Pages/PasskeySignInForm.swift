import NephosService
import NephosWire

/// The part of a sign-in page that is about passkeys. It asks for no name, so it tells nothing about accounts.
struct PasskeySignInForm {
    static let action = "passkey"

    /// What the browser is asked for (Web Authentication §5.5): a passkey that names its account itself.
    private struct Options: Encodable {
        var challenge: String
        var rpId: String
        var timeout = Limits.passkeyChallengeLifetime
        var userVerification = "required"
    }

    let page: OwnPage
    let installation: Installation

    /// The form, hidden without the script; empty where the server has no passkeys.
    func content() async throws(Refusal) -> String {
        let request: PasskeyRequest?
        do throws(ServiceError) {
            request = try await installation.passkeyRequest(binding: page.formToken)
        } catch {
            throw Refusal(error)
        }
        guard let request else { return "" }
        let form = PasskeyScript.form(
            page, action: Self.action, Options(challenge: request.challenge, rpId: request.relyingParty),
            fields: ["credential", "handle", "clientData", "authenticatorData", "signature", "keep"],
            "<p><button>Sign in with a passkey</button></p>")
        return form + PasskeyScript.element
    }

    /// Signs in by the passkey of a form.
    func signIn(_ form: RequestTarget, _ request: SignIn) async throws(ServiceError) -> SignedIn {
        let passkey = PasskeySignIn(
            credential: form.field("credential"), handle: form.field("handle"),
            assertion: PasskeyAssertion(
                clientData: form.field("clientData"), authenticatorData: form.field("authenticatorData"),
                signature: form.field("signature")))
        return try await installation.signIn(by: passkey, request, binding: page.formToken)
    }
}
