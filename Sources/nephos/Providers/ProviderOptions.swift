import FoundationEssentials
import NephosHTTP
import NephosPush
import NephosService
import NephosWire

/// The option about identity providers, and the file that it names.
struct ProviderOptions {
    static let name = "--providers"
    static let options = [
        CommandOption(
            name, "FILE",
            """
            Let people sign in by the OpenID Connect providers in FILE, in JSON:
            {"providers": [{"name": "example", "title": "Example", "issuer": "https://…",
            "clientID": "…", "clientSecretFile": "…"}]}
            """)
    ]

    private let providers: [IdentityProvider]
    /// The files with the providers' secrets.
    let secretFiles: [String]

    /// Reads the file, and those that it names.
    /// - Throws: `UsageError` with the provider and the rule that it breaks.
    init(_ arguments: Arguments) throws(UsageError) {
        guard let path = arguments[Self.name] else {
            (providers, secretFiles) = ([], [])
            return
        }
        let file = try ProviderFile(MailOptions.file(path, option: Self.name), path: path)
        var found: [IdentityProvider] = []
        for entry in file.providers {
            do throws(ServiceError) {
                found.append(try entry.provider())
            } catch {
                throw UsageError("'\(Self.name)': \(path): \(error.reason).")
            }
        }
        do throws(ServiceError) { _ = try ProviderSettings(found, outlet: .none) } catch {
            throw UsageError("'\(Self.name)': \(path): \(error.reason).")
        }
        providers = found
        secretFiles = file.providers.compactMap { $0.clientSecretFile ?? $0.keyFile }
    }

    /// Adds the providers to what people may do.
    func people(_ people: PeopleSettings) throws(ServiceError) -> PeopleSettings {
        guard !providers.isEmpty else { return people }
        var people = people
        people.providers = try ProviderSettings(providers, outlet: .https())
        return people
    }

    /// What `nephos serve --check` says of the providers.
    func findings() -> [ServeCheck.Finding] {
        providers.map {
            .note("people sign in by \($0.name) at \($0.issuer.text); it is not reached for a check")
        }
    }
}

/// The file of identity providers.
struct ProviderFile: Decodable {
    /// A provider as the file has it.
    struct Entry: Decodable {
        var name: String
        var title: String?
        var issuer: String
        var clientID: String
        var clientSecretFile: String?
        /// Of Sign in with Apple, in place of a secret.
        var teamID, keyID, keyFile: String?
        var scopes: [String]?
        var responseMode: String?
        var caFile: String?

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case name, title, issuer, clientID, clientSecretFile, teamID, keyID, keyFile, scopes, responseMode, caFile
        }

        init(from decoder: any Decoder) throws {
            try AnyKey.check(decoder, CodingKeys.allCases.map(\.rawValue))
            let container = try decoder.container(keyedBy: CodingKeys.self)
            func text(_ key: CodingKeys) throws -> String? { try container.decodeIfPresent(String.self, forKey: key) }
            name = try container.decode(String.self, forKey: .name)
            issuer = try container.decode(String.self, forKey: .issuer)
            clientID = try container.decode(String.self, forKey: .clientID)
            (title, clientSecretFile) = (try text(.title), try text(.clientSecretFile))
            (teamID, keyID, keyFile) = (try text(.teamID), try text(.keyID), try text(.keyFile))
            (responseMode, caFile) = (try text(.responseMode), try text(.caFile))
            scopes = try container.decodeIfPresent([String].self, forKey: .scopes)
        }
    }

    let providers: [Entry]

    private enum CodingKeys: String, CodingKey, CaseIterable { case providers }

    init(from decoder: any Decoder) throws {
        try AnyKey.check(decoder, CodingKeys.allCases.map(\.rawValue))
        providers = try decoder.container(keyedBy: CodingKeys.self).decode([Entry].self, forKey: .providers)
    }

    /// - Throws: `UsageError` for a text that is no such JSON.
    init(_ data: Data, path: String) throws(UsageError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let DecodingError.keyNotFound(key, _) {
            throw UsageError("'\(ProviderOptions.name)': \(path): '\(key.stringValue)' is missing.")
        } catch let DecodingError.typeMismatch(_, context), let DecodingError.valueNotFound(_, context) {
            let key = context.codingPath.last { $0.intValue == nil }?.stringValue ?? "providers"
            throw UsageError("'\(ProviderOptions.name)': \(path): '\(key)' is of another type.")
        } catch let error as AnyKey.Unknown {
            throw UsageError("'\(ProviderOptions.name)': \(path): '\(Console.printable(error.name))' is unknown.")
        } catch {
            throw UsageError("'\(ProviderOptions.name)': \(path) is no JSON.")
        }
    }

    /// A key of any name, to find those that are not known.
    private struct AnyKey: CodingKey {
        struct Unknown: Error { var name: String }

        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }

        static func check(_ decoder: any Decoder, _ known: [String]) throws {
            for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
                throw Unknown(name: key.stringValue)
            }
        }
    }
}

extension ProviderFile.Entry {
    /// - Throws: `ServiceError` with the rule that the entry breaks.
    func provider() throws(ServiceError) -> IdentityProvider {
        guard
            let mode = IdentityProvider.ResponseMode(rawValue: responseMode ?? (keyFile == nil ? "query" : "form_post"))
        else { throw error("the response mode of '\(name)' is query or form_post") }
        if let caFile, let problem = CertificateFile.problem(caFile) { throw error("\(caFile): \(problem)") }
        return try IdentityProvider(
            name: name, title: title ?? name, issuer: issuer, clientID: clientID, secret: try secret(),
            scopes: scopes ?? (keyFile == nil ? ["openid", "email", "profile"] : ["openid", "email", "name"]),
            responseMode: mode, certificates: caFile)
    }

    private func secret() throws(ServiceError) -> IdentityProvider.Secret {
        if let clientSecretFile, teamID == nil, keyID == nil, keyFile == nil {
            do throws(UsageError) {
                return .text(try MailOptions.secret(clientSecretFile, option: "clientSecretFile"))
            } catch {
                throw self.error("\(error.message)".trimmingDot)
            }
        }
        guard let teamID, let keyID, let keyFile, clientSecretFile == nil else {
            throw error("'\(name)' needs 'clientSecretFile', or 'teamID', 'keyID' and 'keyFile' (Sign in with Apple)")
        }
        let key: SigningKey
        do throws(NotificationSetupError) { key = try SigningKey(file: keyFile) } catch {
            throw self.error("\(error)")
        }
        return .signed(try SignedSecret(teamID: teamID, keyID: keyID, sign: key.sign))
    }

    private func error(_ reason: String) -> ServiceError { ServiceError(.badRequest, .invalidArguments, reason) }
}

extension String {
    /// The text without a full stop at its end.
    fileprivate var trimmingDot: String { hasSuffix(".") ? String(dropLast()) : self }
}
