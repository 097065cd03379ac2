import NephosTesting

@testable import NephosService

extension IdentityProvider {
    /// The provider as the settings have it.
    init(_ name: String = "a", _ lying: LyingProvider) throws(ServiceError) {
        try self.init(
            name: name, title: "A", issuer: lying.issuer, clientID: lying.clientID, secret: .text(lying.secret))
    }
}

extension ProviderOutlet {
    /// Reaches one provider.
    static func to(_ lying: LyingProvider) -> ProviderOutlet {
        ProviderOutlet { request async throws(ProviderFailure) in
            lying.answer(request.url.text, form: request.form, authorization: request.authorization)
        }
    }
}

extension PeopleSettings {
    func signingIn(by lying: LyingProvider) throws(ServiceError) -> PeopleSettings {
        var people = self
        people.providers = try ProviderSettings([try IdentityProvider("a", lying)], outlet: .to(lying))
        return people
    }
}
