/// What production would refuse of what development does: the elements of development's schema that production's, or a
/// schema file's, lacks.
enum Preflight {
    /// Compares development's schema with the schema that the app will meet.
    /// - Parameter place: the name of that schema in the findings: `production`, or the file's.
    /// - Returns: an error for each element that is missing or differs; and the errors of a deployment, if the schemas
    ///   exclude one.
    static func findings(_ development: Schema, against released: Schema, _ place: String) -> [SchemaFinding] {
        let released = SchemaEvolution.completed(released, development)
        let plan = SchemaEvolution.deploying(development, to: released)
        if plan.findings.hasErrors { return plan.findings }
        return SchemaChanges.sentences(from: released, to: plan.schema).map { sentence in
            SchemaFinding(.error, reason: "not in \(place): \(sentence)")
        }
    }
}
