package import Testing

/// Returns once a condition holds. Records an issue and returns if it does not within two minutes, so that a test whose
/// condition never holds fails and does not hang.
package func eventually(
    _ condition: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async rethrows {
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        if ContinuousClock.now > deadline {
            Issue.record("the condition did not hold within two minutes", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}
