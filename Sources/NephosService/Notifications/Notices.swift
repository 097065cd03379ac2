import NephosStorage

/// A transaction's new outbox rows, for delivery after its commit.
struct Notices: Sendable {
    /// The first new notification of each polled token.
    private(set) var polled: [String: OutboxRow] = [:]
    /// Whether there is a notification to send.
    private(set) var hasDue = false

    var isEmpty: Bool { polled.isEmpty && !hasDue }

    mutating func note(_ row: OutboxRow, _ destination: OutboxDestination) {
        if case .courier(let token) = destination {
            // A notification replaces an earlier one of the same subject.
            let replaces = polled[token].map { !row.subject.isEmpty && $0.subject == row.subject } ?? true
            if replaces { polled[token] = row }
        } else {
            hasDue = true
        }
    }
}

/// The destination of an outbox row, parsed from its `destination`.
enum OutboxDestination: Hashable, Sendable {
    /// A client that polls, by its token.
    case courier(token: String)
    /// A device, by its token.
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
