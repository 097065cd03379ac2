import CloudKit
import Testing

/// Expects that `body` throws a `CKError` of that code, and hands it back.
@discardableResult
func expectFailure(
    _ code: CKError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> CKError? {
    do {
        try await body()
        Issue.record("Nothing was thrown where \(code) was expected.", sourceLocation: sourceLocation)
        return nil
    } catch {
        let failure = error as? CKError
        #expect(failure?.code == code, "\(error)", sourceLocation: sourceLocation)
        return failure
    }
}

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
