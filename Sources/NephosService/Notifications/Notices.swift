import NephosStorage

/// The outbox rows that a transaction inserted, to be delivered after the transaction's commit.
struct Notices: Sendable {
    /// The first new notification for each token of a polling client.
    private(set) var polled: [String: OutboxRow] = [:]
    /// Whether a notification must be sent to a device or a web hook.
    private(set) var hasDue = false

    var isEmpty: Bool { polled.isEmpty && !hasDue }

    mutating func note(_ row: OutboxRow, _ destination: OutboxDestination) {
        if case .courier(let token) = destination {
            // A notification replaces an earlier notification with the same subject.
            let replaces = polled[token].map { !row.subject.isEmpty && $0.subject == row.subject } ?? true
            if replaces { polled[token] = row }
        } else {
            hasDue = true
        }
    }
}

/// The destination of an outbox row, parsed from its `destination`.
enum OutboxDestination: Hashable, Sendable {
    /// A client that polls, identified by its token.
    case courier(token: String)
    /// A device, identified by its token.
    case device(token: String)
    case webHook(url: String)

    init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let subject = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "courier": self = .courier(token: subject)
        case "device": self = .device(token: subject)
        case "webhook": self = .webHook(url: subject)
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .courier(let token): "courier:\(token)"
        case .device(let token): "device:\(token)"
        case .webHook(let url): "webhook:\(url)"
        }
    }
}
