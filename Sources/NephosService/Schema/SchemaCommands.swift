/// The commands on a schema. Each one plans a change, which the service then executes.
package enum SchemaCommands {
    /// The schema as text in the CloudKit Schema Language.
    package static func export(_ schema: Schema) -> String { SchemaPrinter.print(schema) }

    /// Validates a text as a schema, regardless of existing schemas.
    package static func validate(_ text: String) -> [SchemaFinding] {
        do throws(SchemaSyntaxError) {
            // Validating is planning an import into an empty schema.
            return SchemaEvolution.importing(try SchemaParser.parse(text), into: Schema(), production: Schema())
                .findings
        } catch {
            return [SchemaFinding(error)]
        }
    }

    /// Plans the import of a text into the development schema. An invalid text changes nothing.
    package static func planImport(
        _ text: String, development: Schema, production: Schema
    ) -> SchemaPlan {
        do throws(SchemaSyntaxError) {
            var plan = SchemaEvolution.importing(
                try SchemaParser.parse(text), into: development, production: production)
            plan.changes = SchemaChanges.sentences(from: development, to: plan.schema)
            return plan
        } catch {
            return SchemaPlan(findings: [SchemaFinding(error)], schema: development, losses: [], indexChanges: [])
        }
    }

    /// Plans the addition of what a text has more than the development schema.
    static func planMerge(_ text: String, development: Schema, production: Schema) -> SchemaPlan {
        switch merge(text, export(development)) {
        case .success(let merged): planImport(merged.text, development: development, production: production)
        case .failure(let refusal):
            SchemaPlan(findings: refusal.findings, schema: development, losses: [], indexChanges: [])
        }
    }

    /// Plans the deployment of the development schema to production.
    package static func planDeployment(of development: Schema, to production: Schema) -> SchemaPlan {
        var plan = SchemaEvolution.deploying(development, to: production)
        plan.changes = SchemaChanges.sentences(from: production, to: plan.schema)
        return plan
    }

    /// Returns what the schema in a text lacks of the development schema.
    static func preflight(_ development: Schema, _ text: String) -> [SchemaFinding] {
        do throws(SchemaSyntaxError) {
            let file = try SchemaParser.parse(text)
            let rules = file.duplicates + SchemaRules.findings(file.schema)
            if rules.hasErrors { return rules }
            return Preflight.findings(development, against: file.schema, "the schema file")
        } catch {
            return [SchemaFinding(error)]
        }
    }

    /// Merges the schema in a text with the development schema: everything that either has. The text's grants win.
    /// - Returns: the merged schema, and whether each of the two lacks something of it; or the errors.
    package static func merge(_ text: String, _ development: String) -> Result<MergedSchema, SchemaRefusal> {
        do throws(SchemaSyntaxError) {
            let parsed = try SchemaParser.parse(text)
            let stored = try SchemaParser.parse(development).schema
            let file = SchemaEvolution.completed(parsed.schema, stored)
            let rules = parsed.duplicates + SchemaRules.findings(file)
            let plan = SchemaEvolution.deploying(file, to: stored)
            if rules.hasErrors || plan.findings.hasErrors {
                return .failure(SchemaRefusal(findings: rules.hasErrors ? rules : plan.findings))
            }
            return .success(
                MergedSchema(
                    text: SchemaPrinter.print(plan.schema),
                    changesOfDevelopment: SchemaChanges.sentences(from: stored, to: plan.schema),
                    changesOfFile: SchemaChanges.sentences(from: file, to: plan.schema)))
        } catch {
            return .failure(SchemaRefusal(findings: [SchemaFinding(error)]))
        }
    }

    /// Plans a reset: the development schema becomes production's, and all records in development are erased.
    package static func planReset(of development: Schema, to production: Schema) -> SchemaPlan {
        SchemaPlan(
            findings: [], schema: production, losses: SchemaChanges.losses(from: development, to: production),
            indexChanges: [], changes: SchemaChanges.sentences(from: development, to: production))
    }

    /// The positions of the declarations in a text; empty if the text is invalid.
    static func positions(_ text: String) -> [SchemaElement: SchemaPosition] {
        (try? SchemaParser.parse(text))?.positions ?? [:]
    }

    /// Reports the findings of a validation in the words of Apple's `cktool validate-schema`.
    package static func report(_ findings: [SchemaFinding]) -> String {
        let lines = findings.map(\.description).joined(separator: "\n")
        if findings.hasErrors { return "❌ Schema validation failed: \(lines)" }
        return lines.isEmpty ? "✅ Schema is valid." : "✅ Schema is valid.\n\(lines)"
    }
}

/// A schema file and the development schema in one.
package struct MergedSchema: Equatable, Sendable {
    package var text: String
    /// What the merge adds to the development schema, a sentence each.
    package var changesOfDevelopment: [String]
    /// What the merge adds to the file, a sentence each.
    package var changesOfFile: [String]
}

/// The findings that prevent a merge of schemas.
package struct SchemaRefusal: Error, Equatable {
    package var findings: [SchemaFinding]
}
