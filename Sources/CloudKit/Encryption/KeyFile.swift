import Foundation
import NephosCrypto

/// The file in which a device keeps its keys: one for each account of each service, which its user alone can read. Several
/// processes may use it at a time.
struct KeyFile: Sendable {
    /// What is in it.
    struct Contents: Hashable, Sendable, Codable {
        var secrets: AccountSecrets
        /// How long the account's list of devices was when it was seen last, and the hash of its last entry: a list that
        /// does not begin with those entries is another one.
        var listCount: Int64 = 0
        var listHash = Data()
        /// Until the device is on the list, the code by which another one approves it.
        var code: Data?
        /// The same of the lists of others, by their user record names.
        var pins: [String: Pin]?
        var waiting: [String: Waiting]?
    }

    /// A list of devices as it was seen last.
    struct Pin: Hashable, Sendable, Codable {
        var count: Int64
        /// Of its last entry.
        var hash: Data
        /// Of its first entry, by which two people compare it.
        var first: Data?

        /// Nil for a list without entries.
        init?(_ list: DeviceList) {
            guard let first = list.hashes.first else { return nil }
            self.init(count: list.count, hash: Data(list.hash), first: Data(first))
        }

        init(count: Int64, hash: Data, first: Data?) {
            self.count = count
            self.hash = hash
            self.first = first
        }

        /// Whether a list is this one, or goes on from it.
        func isBeginning(of list: DeviceList) -> Bool {
            list.count >= count && (count == 0 || list.hashes[Int(count) - 1] == [UInt8](hash))
        }
    }

    /// A group whose key an account is to get once a person has accepted that account's list.
    struct WaitingGroup: Hashable, Sendable, Codable {
        var zoneName: String
        /// The zone's owner; nil for the account.
        var owner: String?
        var group: String
    }

    /// Another account's list that is not the one that is known, until a person has decided.
    struct Waiting: Hashable, Sendable, Codable {
        var pin: Pin
        var groups: Set<WaitingGroup> = []
    }

    /// Why the keys cannot be read or written.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        var description: String
    }

    let path: String

    /// - Parameters:
    ///   - directory: where such files are; it is made if there is none.
    ///   - service: what tells the service from others.
    init(directory: String, service: String, _ place: KeyPlace) {
        let name = ContentHash.of(
            Array("\(service)\n\(place.container)\n\(place.environment)\n\(place.owner)".utf8))
        path = directory + "/" + name.prefix(16).map { String(format: "%02x", $0) }.joined() + ".json"
    }

    /// Where key files are, unless `NEPHOS_KEYS` names another directory: `$XDG_DATA_HOME/nephos/keys`, or that of the XDG
    /// Base Directory Specification's default.
    static func directory(_ variables: [String: String]) -> String {
        if let directory = variables["NEPHOS_KEYS"], !directory.isEmpty { return directory }
        if let data = variables["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nephos/keys" }
        return (variables["HOME"] ?? NSHomeDirectory()) + "/.local/share/nephos/keys"
    }

    /// Reads the file and writes what `body` makes of it, while no other process does: nil is no file. Blocks.
    func update<Result>(_ body: (inout Contents?) -> Result) throws(Failure) -> Result {
        let directory = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(description: "The directory of keys \(directory) cannot be made: \(error)")
        }
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure("locked") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("locked") }
        }
        let old = try read()
        var contents = old
        let result = body(&contents)
        if let contents, contents != old { try write(contents) }
        return result
    }

    /// Copies the file beside itself, in the place of an earlier copy. Blocks.
    func keepFormer() throws(Failure) {
        let isKept = try update { _ in
            unlink(path + ".former")
            return link(path, path + ".former") == 0 || errno == ENOENT
        }
        guard isKept else { throw failure("copied") }
    }

    /// Another account's list as this device saw it last; nil where it did not, or the file cannot be read. Blocks.
    func pin(of user: String) -> Pin? { try? update { $0?.pins?[user] } }

    /// Blocks.
    func keep(_ pin: Pin, of user: String) {
        try? update { contents in
            var pins = contents?.pins ?? [:]
            pins[user] = pin
            contents?.pins = pins
        }
    }

    /// Notes a list that a person has to look at. Blocks.
    func keepWaiting(_ pin: Pin, of user: String) {
        try? update { contents in
            var waiting = contents?.waiting ?? [:]
            waiting[user] = Waiting(pin: pin, groups: waiting[user]?.groups ?? [])
            contents?.waiting = waiting
        }
    }

    /// Notes what follows once that person has accepted it. Blocks.
    func keepWaiting(_ group: WaitingGroup, of user: String) {
        try? update { contents in
            guard contents?.waiting?[user]?.groups.count ?? Self.waitingGroups < Self.waitingGroups else { return }
            contents?.waiting?[user]?.groups.insert(group)
        }
    }

    /// What is kept of one account.
    private static let waitingGroups = 1000

    private func read() throws(Failure) -> Contents? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read")
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure("read") }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(description: "The keys in \(path) can be read by others: chmod 600, or begin anew")
        }
        guard let data = try? handle.readToEnd(),
            let contents = try? JSONDecoder().decode(Contents.self, from: data)
        else { throw Failure(description: "The keys in \(path) are damaged") }
        return contents
    }

    /// A crash leaves the file as it was, or as it is to be.
    private func write(_ contents: Contents) throws(Failure) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, let data = try? encoder.encode(contents) else { throw failure("written") }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        guard (try? handle.write(contentsOf: data)) != nil, fsync(file) == 0, rename(temporary, path) == 0 else {
            throw failure("written")
        }
    }

    private func failure(_ what: String) -> Failure {
        Failure(description: "The keys in \(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
