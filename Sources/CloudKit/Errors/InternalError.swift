import Foundation

/// The underlying error of a `CKError`. It has a domain of its own and a more specific code, as in Apple's framework.
/// Apps' logs and reports group errors by it.
struct InternalError {
    static let domain = "CKInternalErrorDomain"

    let code: Int

    /// - Parameter reason: the service's reason; nil if this library detected the error itself.
    init(_ code: CKError.Code, reason: String?) {
        self.code =
            switch code {
            case .invalidArguments: reason.map(Self.invalidArguments) ?? code.rawValue
            default: Self.codes[code] ?? code.rawValue
            }
    }

    /// The codes for those of `CKError`, as in the descriptions in public logs, such as (11/2003).
    private static let codes: [CKError.Code: Int] = [
        .partialFailure: 1011, .badContainer: 1014, .serviceUnavailable: 2022, .requestRateLimited: 2008,
        .notAuthenticated: 1002, .permissionFailure: 2007, .unknownItem: 2003, .serverRecordChanged: 2004,
        .serverRejectedRequest: 2000, .changeTokenExpired: 2026, .batchRequestFailed: 2024, .quotaExceeded: 2035,
        .zoneNotFound: 2036, .limitExceeded: 2023, .accountTemporarilyUnavailable: 1029,
    ]

    /// Returns the code for an invalid request. A query that lacks an index has a code of its own.
    private static func invalidArguments(_ reason: String) -> Int { reason.contains(" is not marked ") ? 2015 : 2006 }

    /// Adds this error to `userInfo` as the underlying error.
    func put(in userInfo: inout [String: Any]) {
        var info: [String: Any] = [:]
        for key in [NSLocalizedDescriptionKey, CKError.InfoKey.serverDescription] { info[key] = userInfo[key] }
        userInfo[NSUnderlyingErrorKey] = DescribedError(domain: Self.domain, code: code, userInfo: info)
        userInfo["NSDebugDescription"] = "\(Self.domain): \(code)"
    }
}
