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
}
