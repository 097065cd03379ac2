import CPostgres
import Glibc
import NephosStorage
import NephosThreads

/// One connection to a PostgreSQL server in pipeline mode: sends statements in batches, and waits for their results no
/// longer than its deadline. Used by one thread at a time.
final class PostgresLink {
    /// A parameter list: each value as text that ends in a NUL, or as bytes.
    struct Parameters {
        private(set) var bytes: [UInt8] = []
        /// Where each value begins; -1 for null.
        private(set) var starts: [Int] = []
        private(set) var lengths: [Int32] = []
        private(set) var formats: [Int32] = []

        mutating func add(text: some Sequence<UInt8>) {
            let start = bytes.count
            bytes.append(contentsOf: text)
            add(start, format: 0)
            bytes.append(0)
        }

        mutating func add(_ value: Int64) { add(text: String(value).utf8) }

        mutating func add(bytes value: [UInt8]) {
            let start = bytes.count
            bytes.append(contentsOf: value)
            add(start, format: 1)
            // The address of an empty value must be one.
            bytes.append(0)
        }

        mutating func addNull() {
            starts.append(-1)
            lengths.append(0)
            formats.append(0)
        }

        private mutating func add(_ start: Int, format: Int32) {
            starts.append(start)
            lengths.append(Int32(clamping: bytes.count - start))
            formats.append(format)
        }

        mutating func removeAll() { self = Parameters() }
    }

    enum Query {
        case prepare(name: String, text: String)
        case run(name: String, Parameters)
        case text(String)
    }

    /// What one query of a batch gave. The result is the server's until it is cleared.
    final class Result {
        let handle: OpaquePointer
        init(_ handle: OpaquePointer) { self.handle = handle }
        deinit { PQclear(handle) }

        var rows: Int { Int(PQntuples(handle)) }
        /// How many rows the statement changed.
        var changes: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }
        var tag: String { String(cString: PQcmdStatus(handle)) }
    }

    private let handle: OpaquePointer
    private let notices: NoticeLog
    private let statementMilliseconds: Int
    /// How many queries were sent of each batch whose results were not read yet.
    private var unread: [Int] = []
    private(set) var isBroken = false
    /// How often something was waited for.
    private(set) var roundTrips = 0

    /// Connects to the first of the address's servers that takes writes, beginning with the last one that did.
    /// - Parameter settings: what the session begins with, by name.
    init(_ address: PostgresAddress, _ options: PostgresOptions, settings: [(String, String)]) throws {
        statementMilliseconds = options.statementMilliseconds
        let seconds = max(2, options.connectMilliseconds / 1000)
        // Later ones override what the address says; what may be told otherwise comes before it.
        let parameters: [(String, String)] = [
            ("application_name", "nephos"), ("connect_timeout", "\(seconds)"),
            ("tcp_user_timeout", "\(options.statementMilliseconds)"), ("keepalives_idle", "30"),
            ("target_session_attrs", "read-write"),
            ("dbname", address.text), ("client_encoding", "UTF8"),
        ]
        notices = NoticeLog(options.log)
        handle = try Self.connect(address, parameters, milliseconds: options.connectMilliseconds, notices)
        PQsetnonblocking(handle, 1)
        PQenterPipelineMode(handle)
        // Not as options of the connection, which poolers do not pass on.
        let calls = settings.map {
            "set_config(\(PostgresAddress.literal($0.0)), \(PostgresAddress.literal($0.1)), false)"
        }
        if let failure = try run([.text("SELECT \(calls.joined(separator: ", "))")]).1 {
            throw failure.storageError(while: "setting up a session")
        }
        roundTrips = 0
    }

    deinit { close() }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        isBroken = true
        PQfinish(handle)
    }

    private var isClosed = false

    private static func start(_ parameters: [(String, String)]) -> OpaquePointer? {
        var keywords = parameters.map { UnsafePointer(strdup($0.0)) }
        var values = parameters.map { UnsafePointer(strdup($0.1)) }
        defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
        keywords.append(nil)
        values.append(nil)
        return PQconnectStartParams(&keywords, &values, 1)
    }

    /// - Parameter milliseconds: how long it may take: each of several servers has its part.
    private static func connect(
        _ address: PostgresAddress, _ parameters: [(String, String)], milliseconds: Int, _ notices: NoticeLog
    ) throws -> OpaquePointer {
        let hosts = address.hosts
        let first = address.lastHost.index
        var failure: any Error = StorageError(.inputOutput, "libpq has no memory left")
        for offset in hosts.indices {
            let index = (first + offset) % hosts.count
            guard let handle = start(parameters + hosts[index]) else { throw failure }
            notices.take(from: handle)
            do {
                let part = Int64(max(milliseconds / hosts.count, 500)) * 1_000_000
                try connect(handle, deadline: MonotonicTime.now + part)
                address.lastHost.index = index
                return handle
            } catch {
                PQfinish(handle)
                failure = error
            }
        }
        throw failure
    }

    private static func connect(_ handle: OpaquePointer, deadline: MonotonicTime) throws {
        while true {
            switch PQconnectPoll(handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: try wait(handle, for: Int16(POLLIN), until: deadline, "connecting")
            case PGRES_POLLING_WRITING: try wait(handle, for: Int16(POLLOUT), until: deadline, "connecting")
            // libpq's message names host and user, never the password.
            default: throw error(handle, "connecting")
            }
            if PQstatus(handle) == CONNECTION_BAD { throw error(handle, "connecting") }
        }
    }

    private static func error(_ handle: OpaquePointer, _ action: String) -> StorageError {
        let message = PostgresError.lines(String(cString: PQerrorMessage(handle)))
        return StorageError(.inputOutput, "PostgreSQL: \(message), while \(action)")
    }

    private static func wait(
        _ handle: OpaquePointer, for events: Int16, until deadline: MonotonicTime, _ action: String
    ) throws {
        while true {
            let left = deadline.nanoseconds - MonotonicTime.now.nanoseconds
            guard left > 0 else {
                throw StorageError(.inputOutput, "PostgreSQL: the server did not answer in time, while \(action)")
            }
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let count = poll(&descriptor, 1, Int32(clamping: left / 1_000_000 + 1))
            if count > 0 { return }
            if count < 0 && errno != EINTR { throw error(handle, action) }
        }
    }

    private func wait(for events: Int16, until deadline: MonotonicTime, _ action: String) throws {
        do {
            try Self.wait(handle, for: events, until: deadline, action)
        } catch {
            isBroken = true
            throw error
        }
    }

    private func lost(_ action: String) -> StorageError {
        isBroken = true
        return Self.error(handle, action)
    }

    // MARK: Batches

    /// Sends queries without waiting for what they give: the next batch's reader skips it.
    func send(_ queries: [Query]) throws {
        guard !isBroken else { throw StorageError(.inputOutput, "PostgreSQL: the connection was lost") }
        for query in queries {
            let isSent =
                switch query {
                case .prepare(let name, let text): PQsendPrepare(handle, name, text, 0, nil)
                case .text(let text): PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1)
                case .run(let name, let parameters): send(name, parameters)
                }
            guard isSent == 1 else { throw lost("sending") }
        }
        guard PQpipelineSync(handle) == 1 else { throw lost("sending") }
        unread.append(queries.count)
        if PQflush(handle) < 0 { throw lost("sending") }
    }

    private func send(_ name: String, _ parameters: Parameters) -> Int32 {
        parameters.bytes.withUnsafeBufferPointer { bytes in
            let base = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            let values = parameters.starts.map { start in start < 0 ? nil : base?.advanced(by: start) }
            return PQsendQueryPrepared(
                handle, name, Int32(values.count), values, parameters.lengths, parameters.formats, 1)
        }
    }

    /// Sends queries.
    /// - Returns: what each gave, and why the first failed that did: nothing behind it ran.
    func run(_ queries: [Query]) throws -> ([Result], PostgresError?) {
        try send(queries)
        roundTrips += 1
        let deadline = MonotonicTime.now + Int64(statementMilliseconds + 5000) * 1_000_000
        while unread.count > 1 { _ = try read(unread.removeFirst(), deadline) }
        return try read(unread.removeFirst(), deadline)
    }

    private func read(_ count: Int, _ deadline: MonotonicTime) throws -> ([Result], PostgresError?) {
        var results: [Result] = []
        results.reserveCapacity(count)
        var failure: PostgresError?
        var isSynchronised = false
        while !isSynchronised {
            try waitForResult(deadline)
            // A query's results end with a nil.
            guard let handle = PQgetResult(handle) else { continue }
            let result = Result(handle)
            switch PQresultStatus(handle) {
            case PGRES_PIPELINE_SYNC: isSynchronised = true
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK: results.append(result)
            case PGRES_PIPELINE_ABORTED: break
            default:
                if failure == nil { failure = PostgresError(handle) }
                if PQstatus(self.handle) == CONNECTION_BAD { throw lost("reading") }
            }
        }
        return (results, failure)
    }

    private func waitForResult(_ deadline: MonotonicTime) throws {
        while PQisBusy(handle) == 1 {
            let isFlushing = PQflush(handle)
            if isFlushing < 0 { throw lost("sending") }
            try wait(
                for: Int16(POLLIN) | (isFlushing == 1 ? Int16(POLLOUT) : 0), until: deadline, "waiting for a result")
            if PQconsumeInput(handle) == 0 { throw lost("reading") }
        }
    }

    // MARK: Notifications

    /// Waits for what the server sends unasked.
    /// - Returns: whether it may have sent something.
    func waitForInput(milliseconds: Int) throws -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        let count = poll(&descriptor, 1, Int32(clamping: milliseconds))
        if count < 0 && errno != EINTR { throw lost("listening") }
        return descriptor.revents != 0
    }

    /// Ends the wait of the connection's thread, and the connection with it. May be called on any thread.
    func interrupt() { shutdown(PQsocket(handle), Int32(SHUT_RDWR)) }

    func takeNotifications() throws -> [String] {
        if PQconsumeInput(handle) == 0 { throw lost("listening") }
        var payloads: [String] = []
        while let notification = PQnotifies(handle) {
            payloads.append(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        return payloads
    }

    /// Runs several statements in one text, outside of pipelines.
    func execute(script: String) throws {
        _ = try run([])
        PQexitPipelineMode(handle)
        defer { PQenterPipelineMode(handle) }
        guard PQsendQuery(handle, script) == 1 else { throw lost("sending") }
        roundTrips += 1
        let deadline = MonotonicTime.now + Int64(statementMilliseconds + 5000) * 1_000_000
        var failure: PostgresError?
        while true {
            try waitForResult(deadline)
            guard let handle = PQgetResult(handle) else { break }
            let result = Result(handle)
            if PQresultStatus(result.handle) == PGRES_FATAL_ERROR, failure == nil { failure = PostgresError(handle) }
        }
        if let failure { throw failure }
    }
}
