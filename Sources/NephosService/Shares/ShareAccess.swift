import NephosWire

/// Decides an account's access to a record by its share, with the reason of a refusal. The single authority: every path
/// to a record (fetch, query, feed, notification, conflict, error text) asks here (`CKShare`, Apple's documentation):
///
/// - the owner may do everything;
/// - participants read the records under a share that they accepted; any other record answers as if it did not exist;
/// - a participant with write permission creates, changes and deletes records under the share, but neither deletes its
///   root nor moves anything out of it; a new record needs a parent in the share, or a zone that is shared as a whole;
/// - administrators change the share's participants; the other participants leave a share by deleting it;
/// - a permission of `.none` gives no access.
enum ShareAccess {
    /// An account's role in the share that a record is under.
    enum Standing: Equatable {
        case owner
        case participant(ParticipantRole, SharePermission)
        /// Not a participant of the share, or the record is under none.
        case outsider
    }

    enum Subject: Equatable {
        case record
        /// The record at the top of a shared hierarchy.
        case root
        /// The share's own record.
        case share
    }

    enum Action: Equatable {
        case read, create, change, delete
        /// Moves a record out of the hierarchy, or into another.
        case move
        /// Creates a share.
        case share
    }

    enum Decision: Equatable {
        case allowed
        /// The record answers as if it did not exist.
        case invisible
        case refused(String)
    }

    static func decide(_ action: Action, on subject: Subject, by standing: Standing) -> Decision {
        guard case .participant(let role, let permission) = standing, permission != .none, permission != .unknown
        else { return standing == .owner ? .allowed : .invisible }
        switch action {
        case .read: return .allowed
        case .share: return .refused("only the owner of records may share them")
        case .move: return .refused("only the owner may move records out of what is shared")
        case .delete where subject == .share: return .allowed
        case .change where subject == .share:
            return role == .administrator
                ? .allowed : .refused("only the owner and administrators may change a share")
        case .delete where subject == .root: return .refused("only the owner may delete the root of what is shared")
        case .create, .change, .delete:
            return permission == .readWrite
                ? .allowed : .refused("the share gives the account permission to read only")
        }
    }
}

extension ServiceError {
    static func shareRefusal(_ reason: String) -> ServiceError {
        ServiceError(.accessDenied, .permissionFailure, reason)
    }

    static func alreadyShared(_ name: String) -> ServiceError {
        ServiceError(
            .badRequest, .alreadyShared,
            "record '\(name)' is shared already, or one of its ancestors or descendants is, by another share")
    }

    static let tooManyLookups = ServiceError(
        .throttled, .requestRateLimited, "too many users were looked up or invited; try again later", retryAfter: 60)

    static let tooManyParticipants = ServiceError(
        .badRequest, .tooManyParticipants, "a share has at most \(Limits.shareParticipants) participants")
}
