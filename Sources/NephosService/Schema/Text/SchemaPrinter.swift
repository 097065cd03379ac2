/// Prints a schema in the CloudKit Schema Language, in the layout of Apple's exports: types by name, the system fields
/// first, names padded so that types align, grants last. Equal schemas have equal texts.
enum SchemaPrinter {
    static func print(_ schema: Schema) -> String {
        var text = "DEFINE SCHEMA\n"
        for role in schema.roles.sorted() { text += "\n    CREATE ROLE \(SchemaNames.written(role));\n" }
        for (name, type) in schema.recordTypes.sorted(by: { $0.key < $1.key }) {
            text += "\n    RECORD TYPE \(SchemaNames.written(name)) (\n"
            text += items(type).map { "        " + $0 }.joined(separator: ",\n")
            for index in type.orderedIndexes { text += "\n        \(line(index))" }
            text += "\n    );\n"
        }
        return text
    }

    private static func items(_ type: RecordTypeSchema) -> [String] {
        let fields = type.orderedFields.map { (name: SchemaNames.written($0.name), field: $0.field) }
        let width = fields.reduce(0) { max($0, $1.name.unicodeScalars.count) }
        return fields.map { field in
            let padding = String(repeating: " ", count: width - field.name.unicodeScalars.count)
            return "\(field.name)\(padding) \(definition(field.field))"
        } + grants(type.grants)
    }

    /// The line that declares a composite index, which is a comment for Apple's tools.
    static func line(_ index: IndexSignature) -> String {
        let components = index.components.map { component in
            let word = IndexComponent.written.first { $0.kind == component.kind }.map { " " + $0.word } ?? ""
            return SchemaNames.written(component.field) + word
        }
        return "\(SchemaLexer.pragma) INDEX (\(components.joined(separator: ", ")))"
    }

    /// The text of a field's type and options.
    static func definition(_ field: SchemaField) -> String {
        ([field.type.text] + field.options.names).joined(separator: " ")
    }

    static func grants(_ grants: Grants) -> [String] {
        grants.ordered.map { grant in
            "GRANT \(grant.permissions.names.joined(separator: ", ")) TO \(SchemaNames.written(grant.role))"
        }
    }
}
