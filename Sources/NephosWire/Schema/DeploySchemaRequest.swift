/// The request of `schema/deploy`.
package struct DeploySchemaRequest: Hashable, Sendable {
    /// The changes that the administrator was shown, as `schema/deployment` answers them: others are not deployed. Nil
    /// deploys without a comparison.
    package var changes: [String]?

    package init(changes: [String]? = nil) { self.changes = changes }
}

extension DeploySchemaRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init(changes:), .optional("changes", \.changes, .strings))
}
