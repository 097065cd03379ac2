import NephosStorage
import NephosThreads

extension ServiceEnvironment {
    /// Translates an error to a `ServiceError`. Errors of storage and threads are logged, and clients do not see them.
    func translate(_ error: any Error, requestID: String) -> ServiceError {
        if let error = error as? ServiceError { return error }
        // A name with a NUL in an item is refused at the item; this covers the request's other names.
        if (error as? StorageError)?.code == .text {
            return .invalid("a name in the request holds a NUL, which no name may")
        }
        // What fails before the caller is known has the request's own ID, too.
        log("request \(RequestTimes.current?.requestID ?? requestID): \(error)")
        if error is ThreadError { return .busy }
        switch (error as? StorageError)?.code {
        case .closed: return .unavailable
        case .removed: return .containerDeleted
        case .busy: return .busy
        case .tooLong: return .limitExceeded("the request reads more than the service does in one: ask for less")
        case .inputOutput: return .diskFailure
        case .unknownOutcome: return .unknownOutcome
        default: return .internalError
        }
    }
}
