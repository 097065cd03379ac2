import FoundationEssentials
import Glibc

/// What `nephos login` got from a server.
package struct StoredCredential: Codable, Hashable, Sendable {
    /// The server, in the form of `CredentialsFile.server`.
    package var server: String
    /// The container and environment; nil for the administration.
    package var container: String?
    package var environment: String?
    package var apiToken: String?
    /// The web auth token.
    package var token: String
    /// The name of the account, for people.
    package var account: String
    /// In milliseconds since 1970, if the session is not used before.
    package var expires: Int64

    package init(
        server: String, container: String?, environment: String?, apiToken: String?, token: String, account: String,
        expires: Int64
    ) {
        self.server = server
        self.container = container
        self.environment = environment
        self.apiToken = apiToken
        self.token = token
        self.account = account
        self.expires = expires
    }

    /// Whether two credentials are for the same place, so that the later one replaces the other.
    package func isForSamePlace(as other: StoredCredential) -> Bool {
        server == other.server && container == other.container && environment == other.environment
    }
}

/// The file of the credentials that `nephos login` got. Its owner alone may read it.
package struct CredentialsFile: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    private static let limit = 1 << 20

    package let path: String

    package init(path: String) { self.path = path }

    /// The file of the user: `NEPHOS_CREDENTIALS`, or `nephos/credentials.json` in the directory for configuration.
    package init(_ variables: [String: String]) {
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        let configuration =
            value("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? (value("HOME") ?? "") + "/.config"
        path = value("NEPHOS_CREDENTIALS") ?? configuration + "/nephos/credentials.json"
    }

    /// Returns the one form of a server's address: with its port, without a trailing slash.
    package static func server(_ url: String) -> String {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host?.lowercased()
        else { return url }
        var path = parts.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(scheme)://\(name):\(parts.port ?? (scheme == "https" ? 443 : 80))\(path)"
    }

    /// Returns the credentials; empty without a file.
    /// - Throws: `Failure` for a file that others may read or that is none of credentials.
    package func read() throws(Failure) -> [StoredCredential] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw failure("cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.limit else {
            throw failure("is no file of credentials")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o077 == 0 else {
            throw failure("can be read by other users: chmod 600 it, or remove it")
        }
        do {
            return try JSONDecoder().decode([StoredCredential].self, from: Data(try contents(file)))
        } catch let failure as Failure {
            throw failure
        } catch {
            throw failure("is no file of credentials")
        }
    }

    private func contents(_ file: Int32) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0, bytes.count <= Self.limit else { throw failure("cannot be read") }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// Changes the credentials atomically, one process after another.
    package func update(_ body: (inout [StoredCredential]) -> Void) throws {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        try FileManager.default.createDirectory(
            atPath: directory.isEmpty ? "." : directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw failure("cannot be locked: \(String(cString: strerror(errno)))") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("cannot be locked: \(String(cString: strerror(errno)))") }
        }
        var credentials = try read()
        body(&credentials)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try write([UInt8](try encoder.encode(credentials)))
    }

    private func write(_ bytes: [UInt8]) throws(Failure) {
        let draft = path + ".new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("cannot be written: \(String(cString: strerror(errno)))") }
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        close(file)
        guard isWritten, rename(draft, path) == 0 else {
            throw failure("cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    private func failure(_ problem: String) -> Failure { Failure(description: "\(path) \(problem)") }
}

extension [StoredCredential] {
    /// The credential of an app's process: of its container, or the only one for the server and environment.
    /// - Parameter server: in the form of `CredentialsFile.server`.
    package func credential(server: String, container: String, environment: String) -> StoredCredential? {
        let matching = filter { $0.server == server && $0.container != nil && $0.environment == environment }
        return matching.first { $0.container == container } ?? (matching.count == 1 ? matching[0] : nil)
    }

    /// The credential of the administration.
    package func administration(server: String) -> StoredCredential? {
        first { $0.server == server && $0.container == nil }
    }
}
