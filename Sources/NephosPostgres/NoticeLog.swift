import CPostgres

/// Writes what the server sends unasked, such as the reason for which it ends an idle session, to the log. libpq would write it
/// on standard error, between the lines of the log.
final class NoticeLog: Sendable {
    private let write: @Sendable (String) -> Void

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Takes the notices of a connection, which must not outlive this object.
    func take(from handle: OpaquePointer) {
        let receive: PQnoticeProcessor = { log, message in
            guard let log, let message else { return }
            let text = PostgresError.lines(String(cString: message))
            Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue().write("PostgreSQL: \(text)")
        }
        PQsetNoticeProcessor(handle, receive, Unmanaged.passUnretained(self).toOpaque())
    }
}
