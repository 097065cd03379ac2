extension AnsweredRequest {
    /// A copy for the log of a production server, without the text that the client chose: an address, a password or a
    /// token may be in an unknown path, in a record's name or in a refused value, which the reason quotes. The client has
    /// the reason with the same identifier.
    package var withoutClientText: AnsweredRequest {
        var entry = self
        if !isRouted { entry.endpoint = "(no route)" }
        if !isCallerKnown { (entry.container, entry.environment) = (nil, nil) }
        entry.summary = failedItems > 0 ? "→ \(failedItems) failed" : nil
        entry.reason = nil
        return entry
    }

    /// A copy for the dashboard of a production server, without the refused value that the reason may quote: reading private
    /// fields is audited.
    var withoutValues: AnsweredRequest {
        var entry = self
        entry.reason = reason.map(RefusedValue.masked)
        return entry
    }
}

/// A value in the reason of a refusal: between double quotes, or what a rule found.
enum RefusedValue {
    static func masked(_ reason: String) -> String {
        var reason = reason
        if let found = reason.firstRange(of: ", found ") { reason.replaceSubrange(found.upperBound..., with: "…") }
        guard let first = reason.firstIndex(of: "\""), let last = reason.lastIndex(of: "\"") else { return reason }
        // The end of a long reason is cut, and with it the second quote.
        reason.replaceSubrange(first...(first < last ? last : reason.index(before: reason.endIndex)), with: "\"…\"")
        return reason
    }
}
