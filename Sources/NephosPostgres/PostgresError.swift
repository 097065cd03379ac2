import CPostgres
import NephosStorage

/// What PostgreSQL said of a statement that failed.
struct PostgresError: Error {
    var state: String
    var message: String
    var constraint: String

    init(state: String, message: String, constraint: String = "") {
        self.state = state
        self.message = message
        self.constraint = constraint
    }

    init(_ result: OpaquePointer) {
        func field(_ code: Int32) -> String {
            PQresultErrorField(result, code).map { String(cString: $0) } ?? ""
        }
        state = field(Int32(nephos_pg_diag_sqlstate))
        // The detail of a violated constraint (class 23) has the row's values, which do not belong in a log.
        let detail = state.hasPrefix("23") ? "" : field(Int32(nephos_pg_diag_detail))
        message = Self.line(field(Int32(nephos_pg_diag_message)) + (detail.isEmpty ? "" : ": \(detail)"))
        constraint = field(Int32(nephos_pg_diag_constraint))
    }

    /// Returns a message of libpq's on one line, without the spaces that it aligns texts with.
    static func lines(_ message: String) -> String {
        message.split(separator: "\n").map { line($0.split(separator: " ").joined(separator: " ")) }.joined(
            separator: "; ")
    }

    /// Returns a text of PostgreSQL's with spaces in place of tabs, by which it sets off what continues a message.
    static func line(_ text: String) -> String {
        text.split(separator: "\t").joined(separator: " ")
    }

    /// Whether another transaction was in the way: a serialisation failure, or a deadlock.
    var isConflict: Bool { state == "40001" || isDeadlock }

    /// Whether another write may have been faster: an account was made, or the request was carried out.
    var isRace: Bool { state == "23505" && PostgresTables.races.contains(constraint) }

    var isDeadlock: Bool { state == "40P01" }

    var isLockTimeout: Bool { state == "55P03" }

    /// Whether what the connection has prepared is not there any more, or of tables that changed.
    var needsPreparation: Bool { state == "0A000" || state == "26000" }

    func storageError(while action: String) -> StorageError {
        let remedy =
            state == "42501"
            ? "; grant the role what scripts/postgresql-role grants (Documentation/PostgreSQL.md, Least privilege)" : ""
        var error = StorageError(
            StorageError.Code(sqlState: state), "PostgreSQL: \(message) (\(state)), while \(action)\(remedy)")
        error.isDiskFull = state == "53100"
        return error
    }
}

extension StorageError.Code {
    /// What an error code of PostgreSQL's means to the contract (appendix A of its documentation).
    init(sqlState: String) {
        switch sqlState {
        // Text that is no UTF-8 or has a NUL, an index row or a value that is too large.
        case "22021", "22P05", "54000": self = .constraint
        // `PostgresSQL.state`, of a store that is being removed.
        case "22012": self = .removed
        case "40001", "40P01", "55P03", "57014", "53300", "25P03": self = .busy
        case "XX001", "XX002": self = .damaged
        // A privilege that the role lacks: nothing is wrong with the request.
        case "42501": self = .inputOutput
        default:
            switch sqlState.prefix(2) {
            case "23": self = .constraint
            case "08", "53", "57", "58", "25": self = .inputOutput
            default: self = .other
            }
        }
    }
}
