import NephosWire

/// Decides the access of an account to a record by the record's share, with the reason for a refusal. This is the
/// single authority: every path to a record (fetch, query, feed, notification, conflict, error text) uses it
/// (`CKShare`, Apple's documentation):
///
/// - the owner may do everything;
/// - participants read the records under a share that they accepted; for them, any other record does not exist;
/// - a participant with write permission creates, changes and deletes records under the share, but neither deletes the
///   share's root nor moves a record out of the share; a new record needs a parent in the share, or a zone that is
///   shared as a whole;
/// - administrators change the participants of the share; other participants leave a share by deleting it;
/// - the permission `.none` gives no access.
enum ShareAccess {
    /// The role of an account in the share that a record is under.
    enum Standing: Equatable {
        case owner
        case participant(ParticipantRole, SharePermission)
        /// The account does not participate in the share, or the record is under no share.
        case outsider
    }

    enum Subject: Equatable {
        case record
        /// The root record of a shared hierarchy.
        case root
        /// The record of the share itself.
        case share
    }

    enum Action: Equatable {
        case read, create, change, delete
        /// Moves a record out of the shared hierarchy or into another one.
        case move
        /// Creates a share of the record.
        case share
    }

    enum Decision: Equatable {
        case allowed
        /// The request fails as if the record did not exist.
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
                ? .allowed
                : .refused(
                    "only the owner and administrators may change a share; to leave it, delete it in the shared database"
                )
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
