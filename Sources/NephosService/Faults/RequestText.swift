/// What a request concerns, as the trace of a simulation has it.
package enum RequestText {
    /// Returns the endpoint and the items: `records/modify: save Note "milk"`.
    package static func of(_ request: some Sendable, _ path: String) -> String {
        let texts = FaultItems.of(request, path).map { item in
            let subject = [item.recordType, item.recordName.map { "\"\($0)\"" }, item.zoneName.map { "in \($0)" }]
            return ([item.operation.rawValue] + subject.compactMap(\.self)).joined(separator: " ")
        }
        let text = texts.isEmpty ? path : "\(path): \(texts.joined(separator: ", "))"
        let tokens = ChangeTokens.of(request)
        return !tokens.isEmpty && tokens.allSatisfy { $0 == nil } ? text + withoutToken : text
    }

    /// The end of the text of a request that fetches changes from the beginning.
    private static let withoutToken = " from the beginning"

    /// Whether a text is that of a request with a change token.
    package static func hasToken(_ text: String) -> Bool {
        text.hasPrefix("changes/") && !text.hasSuffix(withoutToken)
    }
}
