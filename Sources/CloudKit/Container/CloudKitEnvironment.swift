public import Foundation
import NephosHTTP
import NephosWire

/// The address of CloudKit's service, with the account and the options that containers use. Not part of Apple's API,
/// because entitlements and the device's iCloud account determine them on Apple's platforms.
///
/// The environment variables of the process define the initial values:
///
/// | variable            | meaning                                              | if absent                            |
/// |---------------------|------------------------------------------------------|--------------------------------------|
/// | `NEPHOS_URL`        | the service, `http://host:port` or `https://…`       | `http://127.0.0.1:8484`              |
/// | `NEPHOS_TOKEN`      | the account's token; `none` is no account            | that of `nephos login`, or `dev:` and the operating system's user |
/// | `NEPHOS_API_TOKEN`  | the container's API token                            | one that the local service accepts   |
/// | `NEPHOS_ACCESS_TOKEN` | the secret of a `nephos dev` on another machine    | none                                 |
/// | `NEPHOS_CONTAINER`  | the identifier of `CKContainer.default()`            | `iCloud.` and the process's name     |
/// | `NEPHOS_ENVIRONMENT`| `development` or `production`                        | `development`                        |
/// | `NEPHOS_CA_FILE`    | the authorities whose certificates are trusted for `https://`, in PEM | the system's        |
/// | `NEPHOS_SEAL_ASSETS`| `yes`, or `no` for an app that shares assets with Web clients | `yes`                       |
///
/// A program can replace these values before it creates its first container:
/// `CloudKitEnvironment.current = CloudKitEnvironment(url: …)`.
public struct CloudKitEnvironment: Hashable, Sendable {
    /// The account as which containers make requests.
    public enum Account: Hashable, Sendable {
        /// The account that a web authentication token belongs to. `dev:NAME` is the account NAME of the local service.
        case token(String)
        /// No account. The account status is `.noAccount`, and only the public database can be read.
        case none
    }

    /// The environment of a container.
    public enum Name: String, Hashable, Sendable {
        /// The environment in which saving records creates types, fields and indexes.
        case development
        /// The environment in which only a deployment changes the schema.
        case production
    }

    /// The URL of the service, without the path of CloudKit Web Services.
    public var url: URL
    /// The account as which containers make requests.
    public var account: Account
    /// The container's API token.
    public var apiToken: String
    /// The identifier of `CKContainer.default()`.
    public var defaultContainerIdentifier: String
    /// The environment of the container: development or production.
    public var name: Name
    /// Whether the device seals the files of assets where possible, so that the service cannot read them
    /// (`Documentation/Encryption.md` lists the cases). The device opens sealed files whatever this value is. Other
    /// clients than this library receive sealed bytes, so an app that shares assets with such clients turns this off.
    public var sealsAssets: Bool
    /// The directory in which this device stores its keys for encrypted values. Nil stands for the directory in
    /// `NEPHOS_KEYS` or, without that variable, for the directory of the operating system's user
    /// (`Documentation/Encryption.md`). Read access to the directory gives access to all data that the account can
    /// read.
    public var keyDirectory: URL?
    /// The program's own store for the keys of this device, which replaces the files in a directory; nil for the files.
    /// Two environments are equal only if they have the same store object.
    public var keyStore: (any DeviceKeyStore)? {
        get { store?.value }
        set { store = newValue.map(SameStore.init) }
    }
    private var store: SameStore?
    /// The file with the certificates of the authorities, in PEM, that are trusted for an `https` address of the service
    /// instead of the system's; nil for the system's.
    public var certificateAuthorities: URL?
    /// The access token of a `nephos dev` that listens beyond its machine (`--access-token-file`); nil for none.
    public var accessToken: String?

    /// An environment for the local service and the user of the operating system. Arguments override its values.
    public init(
        url: URL = CloudKitEnvironment.localURL,
        account: Account = .token("dev:" + CloudKitEnvironment.operatingSystemUser),
        apiToken: String = CloudKitEnvironment.localAPIToken,
        defaultContainerIdentifier: String = CloudKitEnvironment.processContainerIdentifier,
        name: Name = .development,
        sealsAssets: Bool = true,
        keyDirectory: URL? = nil,
        keyStore: (any DeviceKeyStore)? = nil,
        certificateAuthorities: URL? = nil
    ) {
        self.url = url
        self.account = account
        self.apiToken = apiToken
        self.defaultContainerIdentifier = defaultContainerIdentifier
        self.name = name
        self.sealsAssets = sealsAssets
        self.keyDirectory = keyDirectory
        self.certificateAuthorities = certificateAuthorities
        self.keyStore = keyStore
    }

    private struct SameStore: Hashable, Sendable {
        let value: any DeviceKeyStore

        static func == (left: SameStore, right: SameStore) -> Bool { left.value === right.value }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(value)) }
    }

    /// The URL of a service started with `nephos dev`.
    public static let localURL = URL(string: "http://127.0.0.1:8484") ?? URL(fileURLWithPath: "/")
    /// The default API token. A local service accepts any token.
    public static let localAPIToken = String(repeating: "0", count: 64)

    /// The name of the user in the operating system; `me` if there is none.
    public static var operatingSystemUser: String {
        let user = NSUserName()
        return user.isEmpty ? "me" : user
    }

    /// The default container identifier: `iCloud.` and the identifier of the bundle or, without one, the name of the
    /// process.
    public static var processContainerIdentifier: String {
        let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let allowed = name.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                || ".-_".unicodeScalars.contains(scalar) ? Character(scalar) : "-"
        }
        return "iCloud." + (allowed.isEmpty ? "app" : String(allowed))
    }

    /// The error for an invalid variable in the environment of the process.
    public struct Invalid: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
        /// A text with the variable, its value and the valid values.
        public var description: String
        public var errorDescription: String? { description }
    }

    /// Creates an environment from the variables of a process.
    /// - Throws: `Invalid`, which names the variable.
    public init(variables: [String: String]) throws(Invalid) {
        self.init()
        if let text = variables["NEPHOS_URL"] { url = try Self.serviceURL(text) }
        if let text = variables["NEPHOS_TOKEN"] { account = try Self.account(text) }
        if let text = variables["NEPHOS_API_TOKEN"], !text.isEmpty { apiToken = text }
        if let text = variables["NEPHOS_ACCESS_TOKEN"], !text.isEmpty { accessToken = text }
        if let text = variables["NEPHOS_CONTAINER"] {
            guard !text.isEmpty, !text.contains(where: { $0 == "/" || $0.isWhitespace }) else {
                throw Invalid(
                    description: "NEPHOS_CONTAINER is \"\(text)\". It is an identifier such as iCloud.org.example.App.")
            }
            defaultContainerIdentifier = text
        }
        if let text = variables["NEPHOS_ENVIRONMENT"] {
            guard let name = Name(rawValue: text) else {
                throw Invalid(description: "NEPHOS_ENVIRONMENT is \"\(text)\". It is `development` or `production`.")
            }
            self.name = name
        }
        if variables["NEPHOS_TOKEN"] == nil, variables["NEPHOS_URL"] != nil { try useLogin(variables) }
        if let text = variables["NEPHOS_CA_FILE"], !text.isEmpty {
            if let problem = CertificateFile.problem(text) {
                throw Invalid(description: "NEPHOS_CA_FILE is \"\(text)\": \(problem).")
            }
            certificateAuthorities = URL(fileURLWithPath: text)
        }
        if let text = variables["NEPHOS_SEAL_ASSETS"] {
            guard text == "yes" || text == "no" else {
                throw Invalid(description: "NEPHOS_SEAL_ASSETS is \"\(text)\". It is `yes` or `no`.")
            }
            sealsAssets = text == "yes"
        }
    }

    private static func account(_ token: String) throws(Invalid) -> Account {
        guard !token.isEmpty else {
            throw Invalid(description: "NEPHOS_TOKEN is empty. It is the account's token, or `none`.")
        }
        guard token == "none" || AuthorizationHeader.value(token) != nil else {
            throw Invalid(description: "NEPHOS_TOKEN is no account's token: \(tokenRule)")
        }
        return token == "none" ? .none : .token(token)
    }

    /// Takes the account and the API token that `nephos login` got for the service, if it did.
    private mutating func useLogin(_ variables: [String: String]) throws(Invalid) {
        let stored: [StoredCredential]
        do throws(CredentialsFile.Failure) {
            stored = try CredentialsFile(variables).read()
        } catch {
            throw Invalid(description: "\(error.description).")
        }
        let server = CredentialsFile.server(url.absoluteString)
        guard
            let credential = stored.credential(
                server: server, container: defaultContainerIdentifier, environment: name.rawValue),
            AuthorizationHeader.value(credential.token) != nil
        else { return }
        account = .token(credential.token)
        if variables["NEPHOS_API_TOKEN"] == nil, let token = credential.apiToken { apiToken = token }
        if variables["NEPHOS_CONTAINER"] == nil, let container = credential.container {
            defaultContainerIdentifier = container
        }
    }

    fileprivate static let tokenRule =
        "a token is visible ASCII without spaces, because requests carry it in a header; in `dev:NAME`, any NAME."

    private static func serviceURL(_ text: String) throws(Invalid) -> URL {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty,
            scheme == "http" || scheme == "https", url.query == nil, url.fragment == nil
        else {
            throw Invalid(
                description:
                    "NEPHOS_URL is \"\(text)\". It is the service's address, such as \(localURL.absoluteString).")
        }
        return url
    }

    /// The environment of the containers that are created from now on. Its initial value comes from the variables of
    /// the process.
    ///
    /// If the variables are invalid, every request of those containers fails with `CKError.badContainer`, and the
    /// description of the error names the variable. Setting another account posts `CKAccountChanged`.
    public static var current: CloudKitEnvironment {
        get { ServiceDirectory.current.currentEnvironment }
        set { ServiceDirectory.current.setEnvironment(newValue) }
    }

    /// Signs in to the service with another account, or signs out, as a user does in the settings of a device. Unlike
    /// with `current`, existing containers continue as the new account, sequences of notifications wait for the
    /// notifications of the new account, and a `CKSyncEngine` notifies its delegate. Posts `CKAccountChanged`.
    public static func switchAccount(to account: Account) { ServiceDirectory.current.switchAccount(to: account) }
}

extension CloudKitEnvironment {
    /// Returns the service of a container. If this environment is invalid, every request of that service fails with the
    /// reason.
    func service(of containerIdentifier: String) -> any CloudService {
        do throws(Invalid) {
            return try HTTPService(containerIdentifier, self)
        } catch {
            return MisconfiguredService(error)
        }
    }

    /// Returns the value of the header with the account's token; nil without an account.
    func authorization() throws(Invalid) -> String? {
        guard case .token(let token) = account else { return nil }
        guard let value = AuthorizationHeader.value(token) else {
            throw Invalid(description: "The token of the account cannot be sent: \(Self.tokenRule)")
        }
        return value
    }

    /// Returns the header with the access token, if there is one.
    func accessTokenHeader() throws(Invalid) -> [(name: String, value: String)] {
        guard let accessToken else { return [] }
        guard accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Invalid(description: "The access token cannot be sent: it has visible ASCII characters only.")
        }
        return [("X-Nephos-Access-Token", accessToken)]
    }

    /// Returns the path of the file with the certificates of authorities; nil for the system's.
    func certificates() throws(Invalid) -> String? {
        guard let path = certificateAuthorities?.path else { return nil }
        if let problem = CertificateFile.problem(path) {
            throw Invalid(description: "The file of authorities \(path) cannot be used: \(problem).")
        }
        return path
    }

    /// Whether the service is `nephos dev` on this machine, according to its address and the account's token.
    var isLocalService: Bool {
        guard case .token(let token) = account, token.hasPrefix("dev:"), let host = url.host?.lowercased() else {
            return false
        }
        return ["localhost", "::1", "[::1]"].contains(host) || host.wholeMatch(of: /127(\.\d{1,3}){3}/) != nil
    }
}
