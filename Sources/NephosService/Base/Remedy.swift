package import NephosWire

/// What helps against an error, in a sentence. The texts of most reasons name the remedy after the colon; these are for
/// the others, and for the codes.
package enum Remedy {
    private static let reasons: [(parts: [String], remedy: String)] = [
        (
            ["not marked queryable", "not marked sortable", "not marked searchable"],
            "Add the index in development, import the schema, deploy it: see 'nephos schema'."
        ),
        (["in production schema"], "Save it in development, then deploy: see 'nephos schema'."),
        (
            ["Did not find record type"],
            "A type exists from the first record of it that is saved in development. See the container's types."
        ),
        (["Atomic failure"], "See the errors of the batch's other items."),
        (["exceeds the limit", "are allowed"], "Split the request in half."),
    ]

    /// Returns a sentence for an error of a request or of one of its items.
    package static func text(_ code: ServerErrorCode, _ reason: String) -> String {
        if let known = reasons.first(where: { $0.parts.contains { reason.contains($0) } }) { return known.remedy }
        return text(code)
    }

    private static func text(_ code: ServerErrorCode) -> String {
        switch code {
        case .authenticationRequired:
            "The request named no account. Sign in: NEPHOS_TOKEN=dev:NAME for apps of a development server, "
                + "?ckWebAuthToken=dev:NAME for Web Services."
        case .authenticationFailed:
            "The token is not valid. With nephos dev it is dev:NAME, in one place of the request."
        case .conflict:
            "Another save came first. Fetch the record again (or take the error's serverRecord), apply the change to it, "
                + "and save that."
        case .exists: "The name is taken. Update the existing record, or save under another name."
        case .atomicError:
            "Another record of the same batch failed, so none was saved. See the errors of the other items."
        case .zoneNotFound:
            "Save the zone before records in it; others' zones are in the shared database once a share is accepted."
        case .validatingReferenceError:
            "Save the record that is referred to first, or in the same batch; delete the referring records before it."
        case .quotaExceeded: "The database is full. Delete records or files, or raise the limit."
        case .throttled: "Too many requests. Wait for the answer's retryAfter."
        case .tryAgainLater: "The server was busy or stopping. Repeat the request after its retryAfter."
        case .notFound:
            "No such record, or no such endpoint. See whether the name, the zone and the account are the ones you meant."
        case .accessDenied: "The account may not do this. 'nephos why' says why an account does not see a record."
        case .internalError: "A fault of the service. Its log has the details, under the same uuid."
        case .badRequest: "The reason names what the request has to be: change the request, and send it again."
        }
    }
}
