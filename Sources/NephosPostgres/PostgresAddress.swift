import CPostgres
import NephosStorage
import Synchronization

/// Where a PostgreSQL database is: a connection URI, or `keyword=value` pairs (libpq, "Connection Strings").
package struct PostgresAddress: Sendable {
    /// What libpq is given.
    let text: String
    private let options: [String: String]
    /// The place among `hosts` of the one that was connected to last.
    let lastHost = LastHost()

    final class LastHost: Sendable {
        private let stored = Atomic(0)

        var index: Int {
            get { stored.load(ordering: .relaxed) }
            set { stored.store(newValue, ordering: .relaxed) }
        }
    }

    /// - Throws: `StorageError` `.constraint` if it is none.
    package init(_ text: String) throws {
        var message: UnsafeMutablePointer<CChar>?
        guard let found = PQconninfoParse(text, &message) else {
            // libpq's message may quote what was given, and that may hold a password.
            PQfreemem(message)
            throw StorageError(
                .constraint, "the address is none that PostgreSQL knows: postgresql://USER@HOST:PORT/DATABASE")
        }
        defer { PQconninfoFree(found) }
        var options: [String: String] = [:]
        var option = found
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        self.text = text
        self.options = options
    }

    /// Whether it holds a password, which others on the machine could read where it is an argument of a command.
    package var hasPassword: Bool { options["password"] != nil }

    /// Whether what is sent may leave the machine and be read, or be another's, on its way.
    package var isExposed: Bool {
        if options["sslmode"] == "verify-full" { return false }
        let hosts = [options["host"], options["hostaddr"]].compactMap { $0 }.flatMap { $0.split(separator: ",") }
        return !hosts.allSatisfy { host in
            host.hasPrefix("/") || host.hasPrefix("@") || ["localhost", "127.0.0.1", "::1"].contains(host)
        }
    }

    /// What an address of several servers means each time: libpq itself would wait for the first one that does not answer as
    /// long as it is given for all.
    var hosts: [[(String, String)]] {
        func values(_ option: String) -> [String] {
            options[option].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
        }
        let lists = ["host", "hostaddr", "port"].map { ($0, values($0)) }
        let count = max(lists[0].1.count, lists[1].1.count)
        guard count > 1 else { return [[]] }
        return (0..<count).map { index in
            lists.compactMap { name, values in
                // One port is that of all.
                values.isEmpty ? nil : (name, values[min(index, values.count - 1)])
            }
        }
    }

    /// A name as SQL has it.
    static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    /// A text as SQL has it.
    static func literal(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    /// The advisory lock of the servers of a database, which each holds shared: what copies stores takes it for itself.
    static func nameOfServersLock(_ prefix: String) -> String { "servers of \(prefix)" }

    /// What a session looks for tables in.
    static func searchPath(_ prefix: String) -> String { "\(quoted(prefix)), pg_catalog" }

    /// An advisory lock with that name.
    static func lockKey(_ name: String) -> (Int32, Int32) {
        var hash: UInt32 = 2_166_136_261
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return (0x4e65_7068, Int32(bitPattern: hash))
    }
}
