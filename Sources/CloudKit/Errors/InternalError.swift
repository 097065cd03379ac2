import Foundation

/// What Apple's framework keeps under an error: one of a domain of its own, with a code that says more. Apps' logs and
/// reports group errors by it.
struct InternalError {
    static let domain = "CKInternalErrorDomain"

    let code: Int

    /// - Parameter reason: what the service said; nil where this side found the error.
    init(_ code: CKError.Code, reason: String?) {
        self.code =
            switch code {
            case .invalidArguments: reason.map(Self.invalidArguments) ?? code.rawValue
            default: Self.codes[code] ?? code.rawValue
            }
    }

    /// The codes as `CKError`s describe themselves by them in public logs, as (11/2003).
    private static let codes: [CKError.Code: Int] = [
        .partialFailure: 1011, .badContainer: 1014, .serviceUnavailable: 2022, .requestRateLimited: 2008,
        .notAuthenticated: 1002, .permissionFailure: 2007, .unknownItem: 2003, .serverRecordChanged: 2004,
        .serverRejectedRequest: 2000, .changeTokenExpired: 2026, .batchRequestFailed: 2024, .quotaExceeded: 2035,
        .zoneNotFound: 2036, .limitExceeded: 2023, .accountTemporarilyUnavailable: 1029,
    ]

    /// A query that lacks an index is told from what else is wrong with a request.
    private static func invalidArguments(_ reason: String) -> Int { reason.contains(" is not marked ") ? 2015 : 2006 }

    /// Puts the error under one with this `userInfo`.
    func put(in userInfo: inout [String: Any]) {
        var info: [String: Any] = [:]
        for key in [NSLocalizedDescriptionKey, CKError.InfoKey.serverDescription] { info[key] = userInfo[key] }
        userInfo[NSUnderlyingErrorKey] = DescribedError(domain: Self.domain, code: code, userInfo: info)
        userInfo["NSDebugDescription"] = "\(Self.domain): \(code)"
    }
}
