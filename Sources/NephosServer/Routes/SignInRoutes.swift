import NephosService
import NephosWire

/// The routes at which people sign in and out: a page for browsers, and the same in JSON for programs.
enum SignInRoutes {
    static let table: [Route] = [
        Route([.get, .post], SignInPage.path, bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            guard let installation = routed.access.installation else {
                return try await DevelopmentSignInPage.answer(routed)
            }
            return try await SignInPage(routed, installation).answer()
        },
        .page(AccountPage.self), .page(LoginPage.self),
        Route([.get], PasskeyScript.path, access: .open) { routed throws(Refusal) in
            _ = try routed.installation
            return PasskeyScript.response
        },
        Route([.post], "/installation/logins/begin", bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            let installation = try routed.installation
            let message = try routed.message(BeginLoginRequest.self)
            let apiToken = try routed.apiToken(isAdministration: message.administration ?? false)
            guard routed.request.origin == nil || routed.isOwnPageOfAdministration(apiToken) else {
                throw Refusal(.accessDenied, "a web page signs in by its 'redirectURL'")
            }
            return try await routed.answer { () async throws(ServiceError) in
                try await installation.beginLogin(
                    apiToken: apiToken, label: message.label ?? "", keepsSignedIn: routed.request.origin == nil,
                    address: routed.request.client)
            }
        },
        Route([.post], "/installation/logins/poll", bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            let installation = try routed.installation
            let message = try routed.message(PollLoginRequest.self)
            return try await routed.answer { () async throws(ServiceError) in
                PollLoginResponse(try await installation.login(message.secret, address: routed.request.client))
            }
        },
        Route([.get, .post], LinkPage.path, bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            try await LinkPage(routed, try routed.installation).answer()
        },
        Route([.get, .post], MailRequestPage.recovery, bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            try await MailRequestPage(routed, try routed.installation, isSignUp: false).answer()
        },
        Route([.get, .post], MailRequestPage.signUp, bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            try await MailRequestPage(routed, try routed.installation, isSignUp: true).answer()
        },
        Route([.post], ProviderPage.path + "start", bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            try await ProviderPage(routed, try routed.installation).start()
        },
        Route([.get, .post], ProviderPage.path + "callback", bodyLimit: 16 * 1024, access: .open) {
            routed throws(Refusal) in
            try await ProviderPage(routed, try routed.installation).callback()
        },
        Route([.post], "/installation/sessions/sign-in", bodyLimit: 16 * 1024, access: .open) {
            routed throws(Refusal) in
            let installation = try routed.installation
            let message = try routed.message(Message.self)
            let apiToken = try routed.apiToken(isAdministration: message.administration ?? false)
            let request = SignIn(
                name: message.account, password: message.password, apiToken: apiToken,
                origin: routed.isOwnPageOfAdministration(apiToken) ? nil : routed.request.origin,
                device: message.device, label: message.label ?? "",
                keepsSignedIn: message.keepSignedIn ?? false,
                address: routed.request.client)
            return try await routed.answer { () async throws(ServiceError) in
                Answer(try await installation.signIn(request))
            }
        },
        Route([.post], "/installation/sessions/sign-out", access: .open) { routed throws(Refusal) in
            let installation = try routed.installation
            guard let header = routed.request.authorization, let token = AuthorizationHeader.token(header) else {
                throw Refusal(
                    .badRequest, "the session that ends is named by the header Authorization",
                    clientCode: .invalidArguments)
            }
            return try await routed.answer { () async throws(ServiceError) in
                try await installation.signOut(String(token))
                return EmptyAnswer()
            }
        },
    ]

    private struct Message: Decodable {
        var account: String
        var password: String
        var device: String?
        var label: String?
        var keepSignedIn: Bool?
        var administration: Bool?
    }

    private struct Answer: Encodable {
        var ckWebAuthToken: String
        /// The secret by which the device is known at its next sign-in, so that strangers' guesses do not delay it.
        var device: String
        var expires: Int64

        init(_ signedIn: SignedIn) {
            (ckWebAuthToken, device, expires) = (signedIn.token, signedIn.device, signedIn.expiresAt)
        }
    }
}

extension PollLoginResponse {
    init(_ outcome: LoginOutcome) {
        switch outcome {
        case .pending: self.init(status: .pending)
        case .denied: self.init(status: .denied)
        case .signedIn(let signedIn, let account, let container, let environment):
            self.init(status: .signedIn)
            (ckWebAuthToken, expires, self.account) = (signedIn.token, signedIn.expiresAt, account)
            (self.container, self.environment) = (container, environment)
        }
    }
}

extension RoutedRequest {
    /// The API token of a sign-in to a container; nil for one to the administration.
    fileprivate func apiToken(isAdministration: Bool) throws(Refusal) -> String? {
        let apiToken = target.parameter("ckAPIToken")?.readings.first
        guard (apiToken == nil) == isAdministration else {
            throw Refusal(
                .badRequest,
                "a sign-in is to a container, by its ckAPIToken in the query, or to the administration, by "
                    + "'administration': true", clientCode: .invalidArguments)
        }
        return apiToken
    }

    /// Whether the server's own page, the dashboard, signs in to the administration, as a program does.
    fileprivate func isOwnPageOfAdministration(_ apiToken: String?) -> Bool {
        apiToken == nil && request.origin == access.baseURL(request)
    }

    /// The installation of the server.
    /// - Throws: the refusal of an unknown path on a server without one.
    var installation: Installation {
        get throws(Refusal) {
            guard let installation = access.installation else { throw .noHandler }
            return installation
        }
    }
}
