import NephosWire

extension NephosService {
    /// Notes what an accepted save brought to development: additions to the schema, and limits that are nearly reached.
    func preflight(_ request: ModifyRecordsRequest, _ applied: ModifyRecords.Applied, _ context: RequestContext) {
        guard context.environment == .development else { return }
        for addition in applied.additions { stores.logGrowth("\(addition) in '\(context.container)'") }
        note(PreflightRules.notes(request, savedBytes: applied.savedBytes.values.reduce(0, +)), context)
    }

    /// Notes what of an accepted query Apple's service lacks.
    func preflight(_ query: Query, _ context: RequestContext) {
        guard context.environment == .development, query.extendedFilter != nil else { return }
        note(
            [
                "queries of '\(Identifier.excerpt(query.recordType))' are of a dialect that Apple's service refuses"
                    + " (`CKQuery.extended`)"
            ], context)
    }

    private func note(_ notes: [String], _ context: RequestContext) {
        for note in notes where preflightNotes.add(note, to: context.container) {
            stores.logGrowth("\(note) in '\(context.container)'")
        }
    }
}
