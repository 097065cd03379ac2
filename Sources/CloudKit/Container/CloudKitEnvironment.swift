public import Foundation

/// The address of CloudKit's service, and the account and options that containers use. Not part of Apple's API: there,
/// entitlements and the device's iCloud account determine them.
///
/// The process's environment variables define it:
///
/// | variable            | meaning                                              | if absent                            |
/// |---------------------|------------------------------------------------------|--------------------------------------|
/// | `NEPHOS_URL`        | the service, `http://host:port` or `https://…`       | `http://127.0.0.1:8484`              |
/// | `NEPHOS_TOKEN`      | the account's token; `none` is no account            | `dev:` and the operating system's user |
/// | `NEPHOS_API_TOKEN`  | the container's API token                            | one that the local service accepts   |
/// | `NEPHOS_CONTAINER`  | the identifier of `CKContainer.default()`            | `iCloud.` and the process's name     |
/// | `NEPHOS_ENVIRONMENT`| `development` or `production`                        | `development`                        |
/// | `NEPHOS_SEAL_ASSETS`| `yes`, or `no` for an app that shares assets with Web clients | `yes`                       |
///
/// Code can replace it before the first container is made: `CloudKitEnvironment.current = CloudKitEnvironment(url: …)`.
public struct CloudKitEnvironment: Hashable, Sendable {
    /// The account of requests.
    public enum Account: Hashable, Sendable {
        /// The account that a web authentication token belongs to. `dev:NAME` is the account NAME of the local service.
        case token(String)
        /// No account: the account status is `.noAccount`, and only the public database can be read.
        case none
    }

    /// The container's environment. In development, saving records creates record types and fields.
    public enum Name: String, Hashable, Sendable {
        /// Saving records creates types, fields and indexes.
        case development
        /// Only a deployment changes the schema.
        case production
    }

    /// The service's URL, without the path of CloudKit Web Services.
    public var url: URL
    /// The account of requests.
    public var account: Account
    /// The container's API token.
    public var apiToken: String
    /// The identifier of `CKContainer.default()`.
    public var defaultContainerIdentifier: String
    /// The container's environment.
    public var name: Name
    /// Whether the device seals the files of assets where possible, so that the service cannot read them
    /// (`Documentation/Encryption.md` lists the cases). Sealed files open regardless of this value. Clients other than
    /// this library receive sealed bytes, so an app that shares assets with them turns this off.
    public var sealsAssets: Bool
    /// The directory in which this device stores its keys for encrypted values; nil means the one in `NEPHOS_KEYS`, or
    /// that of the operating system's user (`Documentation/Encryption.md`). Read access to the directory gives access
    /// to all data that the account can read.
    public var keyDirectory: URL?
    /// The program's store for this device's keys, used instead of files in a directory; nil means the files. Two
    /// environments are equal only if they have the same store object.
    public var keyStore: (any DeviceKeyStore)? {
        get { store?.value }
        set { store = newValue.map(SameStore.init) }
    }
    private var store: SameStore?

    /// An environment for the local service and the operating system's user, unless an argument overrides them.
    public init(
        url: URL = CloudKitEnvironment.localURL,
        account: Account = .token("dev:" + CloudKitEnvironment.operatingSystemUser),
        apiToken: String = CloudKitEnvironment.localAPIToken,
        defaultContainerIdentifier: String = CloudKitEnvironment.processContainerIdentifier,
        name: Name = .development,
        sealsAssets: Bool = true,
        keyDirectory: URL? = nil,
        keyStore: (any DeviceKeyStore)? = nil
    ) {
        self.url = url
        self.account = account
        self.apiToken = apiToken
        self.defaultContainerIdentifier = defaultContainerIdentifier
        self.name = name
        self.sealsAssets = sealsAssets
        self.keyDirectory = keyDirectory
        self.keyStore = keyStore
    }

    private struct SameStore: Hashable, Sendable {
        let value: any DeviceKeyStore

        static func == (left: SameStore, right: SameStore) -> Bool { left.value === right.value }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(value)) }
    }

    /// The URL of a service started with `nephos dev`.
    public static let localURL = URL(string: "http://127.0.0.1:8484") ?? URL(fileURLWithPath: "/")
    /// The default API token: a local service accepts any.
    public static let localAPIToken = String(repeating: "0", count: 64)

    /// The operating system's name of the user; `me` if there is none.
    public static var operatingSystemUser: String {
        let user = NSUserName()
        return user.isEmpty ? "me" : user
    }

    /// `iCloud.` and the bundle's identifier or the process's name.
    public static var processContainerIdentifier: String {
        let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let allowed = name.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                || ".-_".unicodeScalars.contains(scalar) ? Character(scalar) : "-"
        }
        return "iCloud." + (allowed.isEmpty ? "app" : String(allowed))
    }

    /// An invalid variable in the process's environment.
    public struct Invalid: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
        /// The variable, its value and the valid values.
        public var description: String
        public var errorDescription: String? { description }
    }

    /// Reads the variables of a process.
    /// - Throws: `Invalid`, naming the variable.
    public init(variables: [String: String]) throws(Invalid) {
        self.init()
        if let text = variables["NEPHOS_URL"] { url = try Self.serviceURL(text) }
        if let text = variables["NEPHOS_TOKEN"] {
            guard !text.isEmpty else {
                throw Invalid(description: "NEPHOS_TOKEN is empty. It is the account's token, or `none`.")
            }
            account = text == "none" ? .none : .token(text)
        }
        if let text = variables["NEPHOS_API_TOKEN"], !text.isEmpty { apiToken = text }
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
        if let text = variables["NEPHOS_SEAL_ASSETS"] {
            guard text == "yes" || text == "no" else {
                throw Invalid(description: "NEPHOS_SEAL_ASSETS is \"\(text)\". It is `yes` or `no`.")
            }
            sealsAssets = text == "yes"
        }
    }

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

    /// The environment of containers made from now on; initially that of the process's variables.
    ///
    /// If the variables are invalid, every request of those containers fails with `CKError.badContainer`, and the
    /// error's description names the variable. Setting another account posts `CKAccountChanged`.
    public static var current: CloudKitEnvironment {
        get { ServiceDirectory.shared.currentEnvironment }
        set { ServiceDirectory.shared.setEnvironment(newValue) }
    }

    /// Signs in to the service with another account, or signs out, as a user does in a device's settings. Unlike with
    /// `current`, existing containers continue as the new account, notification sequences wait for the new account's
    /// notifications, and a `CKSyncEngine` informs its delegate. Posts `CKAccountChanged`.
    public static func switchAccount(to account: Account) { ServiceDirectory.shared.switchAccount(to: account) }
}

extension CloudKitEnvironment {
    /// Whether the service is `nephos dev` on this machine, judging by its address and the account's token.
    var isLocalService: Bool {
        guard case .token(let token) = account, token.hasPrefix("dev:"), let host = url.host?.lowercased() else {
            return false
        }
        return ["localhost", "::1", "[::1]"].contains(host) || host.wholeMatch(of: /127(\.\d{1,3}){3}/) != nil
    }
}
