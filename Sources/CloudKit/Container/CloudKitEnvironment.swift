public import Foundation

/// Where CloudKit's service is, and as whom to use it. Not part of Apple's API: there, entitlements and the device's
/// iCloud account say this.
///
/// It is read from the process's environment:
///
/// | variable            | meaning                                              | if absent                            |
/// |---------------------|------------------------------------------------------|--------------------------------------|
/// | `NEPHOS_URL`        | the service, `http://host:port` or `https://…`       | `http://127.0.0.1:8484`              |
/// | `NEPHOS_TOKEN`      | the account's token; `none` is no account            | `dev:` and the operating system's user |
/// | `NEPHOS_API_TOKEN`  | the container's API token                            | one that the local service accepts   |
/// | `NEPHOS_CONTAINER`  | what `CKContainer.default()` means                   | `iCloud.` and the process's name     |
/// | `NEPHOS_ENVIRONMENT`| `development` or `production`                        | `development`                        |
/// | `NEPHOS_SEAL_ASSETS`| `yes`, or `no` for an app that shares assets with Web clients | `yes`                       |
///
/// or set in code, before the first container is made: `CloudKitEnvironment.current = CloudKitEnvironment(url: …)`.
public struct CloudKitEnvironment: Hashable, Sendable {
    /// As whom requests are made.
    public enum Account: Hashable, Sendable {
        /// The account that a web authentication token belongs to. `dev:NAME` is the account NAME of the local service.
        case token(String)
        /// No account: the account status is `.noAccount`, and only the public database can be read.
        case none
    }

    /// The container's environment. Development makes record types and fields as they are saved.
    public enum Name: String, Hashable, Sendable {
        /// Where types, fields and indexes are made as records are saved.
        case development
        /// Where the schema changes by a deployment alone.
        case production
    }

    /// The service, without the path of CloudKit Web Services.
    public var url: URL
    /// As whom requests are made.
    public var account: Account
    /// The container's API token.
    public var apiToken: String
    /// What `CKContainer.default()` means.
    public var defaultContainerIdentifier: String
    /// The container's environment.
    public var name: Name
    /// Whether the files of assets are sealed on the device, so that the service cannot read them, where that is
    /// possible (`Documentation/Encryption.md` says where). What is sealed opens whatever this says; clients that are
    /// not this library get sealed bytes, so an app that shares assets with them turns it off.
    public var sealsAssets: Bool
    /// The directory in which this device keeps its keys for encrypted values; nil is the one that `NEPHOS_KEYS` names,
    /// or that of the operating system's user (`Documentation/Encryption.md`). Who can read it can read what the
    /// account can.
    public var keyDirectory: URL?
    /// Where the program keeps this device's keys, in the place of files in a directory; nil is those files.
    /// Environments are equal where this is the same object.
    public var keyStore: (any DeviceKeyStore)? {
        get { store?.value }
        set { store = newValue.map(SameStore.init) }
    }
    private var store: SameStore?

    /// The local service as the operating system's user, except where an argument says otherwise.
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

    /// Where a service started with `nephos dev` listens.
    public static let localURL = URL(string: "http://127.0.0.1:8484") ?? URL(fileURLWithPath: "/")
    /// The API token used where none is given: a local service accepts any.
    public static let localAPIToken = String(repeating: "0", count: 64)

    /// The operating system's name of the user, `me` where it has none.
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

    /// What is wrong with the process's environment.
    public struct Invalid: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
        /// Which variable, what it says and what it may say.
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

    /// What containers made from now on use; at first what the process's environment says.
    ///
    /// Where that is not valid, every request of those containers fails with `CKError.badContainer`, and its
    /// description names the variable. Setting another account posts `CKAccountChanged`.
    public static var current: CloudKitEnvironment {
        get { ServiceDirectory.shared.currentEnvironment }
        set { ServiceDirectory.shared.setEnvironment(newValue) }
    }

    /// Signs in to the service with another account, or out, as in the settings of a device: unlike with
    /// `current`, the containers that there are go on as that account, what waits for notifications waits for that
    /// account's, and a `CKSyncEngine` tells its delegate. Posts `CKAccountChanged`.
    public static func switchAccount(to account: Account) { ServiceDirectory.shared.switchAccount(to: account) }
}

extension CloudKitEnvironment {
    /// Whether the service is `nephos dev` on this machine, as far as its address and the account's token tell.
    var isLocalService: Bool {
        guard case .token(let token) = account, token.hasPrefix("dev:"), let host = url.host?.lowercased() else {
            return false
        }
        return ["localhost", "::1", "[::1]"].contains(host) || host.wholeMatch(of: /127(\.\d{1,3}){3}/) != nil
    }
}
