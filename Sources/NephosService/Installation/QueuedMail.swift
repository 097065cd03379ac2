import NephosCrypto
import NephosStorage
import NephosWire

/// A mail that waits to be sent. It has no secret: its link is made as it is sent, so neither the store nor a backup has one
/// that signs anybody in. Nor does it say whether its recipient has an account: that is found out then.
struct QueuedMail: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.queuedMail

    enum Purpose: String, Codable {
        case verification, recovery, passwordChanged, signUp, invitation, deviceAdded, credentialsChanged
    }

    var purpose: Purpose
    /// The canonical address.
    var recipient: String
    /// The ID of the account that the mail is about; nil where the recipient tells.
    var account: String?
    /// Where the person goes on after a sign-up; nil for the account's page.
    var continuation: SignUpContinuation?
    /// Of a mail about a device: how it was added, and the container of its keys.
    var event: DeviceNotice.Event?
    var container: String?
    /// Of a mail about a change of how the account signs in.
    var change: CredentialChange?
    var queuedAt: Int64
    /// The number of attempts that began.
    var attempts = 0
    /// The store's token epoch in which the mail was queued. It is sent in no other.
    var epoch: Int64

    /// The name of a mail: entries sort by the time of the next attempt.
    static func name(dueAt time: Int64, _ id: some StringProtocol) -> String {
        let digits = String(max(0, time))
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + "/" + id
    }

    /// The time of the next attempt and the identifier in a name; nil for a name that has none.
    static func parts(of name: String) -> (dueAt: Int64, id: Substring)? {
        let parts = name.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]) else { return nil }
        return (time, parts[1])
    }
}

/// The mails that were asked for, to a recipient or from a network, since the start of an hour.
struct MailAllowance: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.mailAllowance
    private static let hour: Int64 = 60 * 60 * 1000

    var count: Int
    var since: Int64

    /// Counts a mail to a recipient.
    /// - Returns: false if there were too many, and this one is not to be sent.
    static func take(recipient: String, at now: Int64, in transaction: StorageTransaction) throws -> Bool {
        try take("recipient \(SecretToken.hash(of: recipient))", Limits.mailsOfRecipient, now, transaction) == nil
    }

    /// Counts a mail that a network asked for.
    /// - Parameter address: the network address of the caller; empty if unknown.
    /// - Throws: `requestRateLimited` if there were too many.
    static func take(network address: [UInt8], at now: Int64, in transaction: StorageTransaction) throws {
        guard let network = SignInCounters.network(address) else { return }
        try require("network \(network)", Limits.mailsOfNetwork, now, transaction)
    }

    /// Counts a mail to an address without an account: who has many networks could have the server write to any address.
    /// - Throws: `requestRateLimited` if there were too many.
    static func takeSignUp(at now: Int64, in transaction: StorageTransaction) throws {
        try require("sign-ups", Limits.mailsOfSignUps, now, transaction)
    }

    private static func require(
        _ name: String, _ limit: Int, _ now: Int64, _ transaction: StorageTransaction
    ) throws {
        guard let wait = try take(name, limit, now, transaction) else { return }
        throw ServiceError(
            .throttled, .requestRateLimited, "too many mails were asked for: wait before the next",
            retryAfter: Double(wait) / 1000)
    }

    /// - Returns: the time in milliseconds until the next mail is allowed; nil if this one is.
    private static func take(
        _ name: String, _ limit: Int, _ now: Int64, _ transaction: StorageTransaction
    ) throws -> Int64? {
        var allowance = try transaction.entry(MailAllowance.self, name) ?? MailAllowance(count: 0, since: now)
        // An hour that begins later than now is of a clock that was ahead.
        let wasAhead = allowance.since - now > Limits.clockDifference
        if now - allowance.since >= hour || wasAhead { allowance = MailAllowance(count: 0, since: now) }
        guard allowance.count < limit else { return allowance.since + hour - now }
        allowance.count += 1
        try transaction.put(allowance, name, expiresAt: allowance.since + hour)
        return nil
    }
}

extension ServiceError {
    static let tooManyMails = ServiceError(
        .throttled, .requestRateLimited, "too many mails were sent to the address: wait an hour", retryAfter: 3600)
    /// The refusal of a text to which no mail can go. Of mail servers few take other letters than ASCII's (SMTPUTF8,
    /// RFC 6531), and which do shows only as a mail is sent.
    static func noMailAddress(_ text: String) -> ServiceError {
        guard text.contains("@"), let other = text.first(where: { !$0.isASCII }) else {
            return .invalid("that is no e-mail address to which this server can send")
        }
        let isOfDomain = text.split(separator: "@").last?.contains(other) == true
        return .invalid(
            isOfDomain
                ? "this server sends to domains in ASCII alone: write the domain as it begins with xn--"
                : "this server sends to addresses in ASCII alone, and '\(Identifier.excerpt(String(other)))' is not: use another"
        )
    }
}
