import NephosTesting

@testable import NephosService

/// Makes schemas from a seed.
struct RandomSchemas {
    private var random: SeededGenerator
    /// Whether names may be such that only the syntax allows them.
    private let hasOddNames: Bool

    init(seed: UInt64, hasOddNames: Bool = false) {
        random = SeededGenerator(seed: seed)
        self.hasOddNames = hasOddNames
    }

    static let scalars: [SchemaType] = SchemaType.Scalar.allCases.flatMap { scalar -> [SchemaType] in
        var types = [SchemaType(scalar)]
        if SchemaType.canBeEncrypted(scalar) { types.append(SchemaType(scalar, isEncrypted: true)) }
        if scalar == .number {
            types += SchemaType.NumberPreference.allCases.map { SchemaType(.number, preference: $0) }
        }
        return types
    }

    /// Every type there is.
    static let types: [SchemaType] = scalars.flatMap { scalar -> [SchemaType] in
        var list = scalar
        list.isList = true
        return [scalar, list]
    }

    mutating func schema() -> Schema {
        var schema = Schema()
        for _ in 0..<Int.random(in: 0...3, using: &random) { schema.add(role: name()) }
        for _ in 0..<Int.random(in: 0...6, using: &random) { schema.set(recordType(schema.roles), named: name()) }
        return schema
    }

    private mutating func recordType(_ roles: Set<String>) -> RecordTypeSchema {
        var fields: [String: SchemaField] = [:]
        for system in SystemField.allCases { fields[system.rawValue] = SchemaField(system.type, options(system.type)) }
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            let type = Self.types.randomElement(using: &random) ?? SchemaType(.string)
            fields[name()] = SchemaField(type, options(type))
        }
        var grants: Grants = [:]
        for role in SystemRole.all.union(roles).sorted() {
            let permissions = Permissions(rawValue: UInt8.random(in: 0...7, using: &random))
            if !permissions.isEmpty { grants[role] = permissions }
        }
        if grants.isEmpty { grants = .standard(for: "T") }
        return RecordTypeSchema(fields: fields, grants: grants)
    }

    private mutating func options(_ type: SchemaType) -> IndexOptions {
        IndexOptions(rawValue: UInt8.random(in: 0...7, using: &random))
            .intersection(IndexOptions.possible(for: type).union(.tolerated(for: type)))
    }

    private mutating func name() -> String {
        let words = [
            "title", "Year", "grant", "Queryable", "record", "TYPE", "list", "string", "a_b", "x1", "SORTABLE",
        ]
        let odd = ["", " ", "två ord", "---", "/*", "//", "_x", "🎨", "9lives", "a;b", ")"]
        let pool = hasOddNames ? words + odd : words
        let name = pool.randomElement(using: &random) ?? "x"
        return Bool.random(using: &random) ? name : name + String(Int.random(in: 0...99, using: &random))
    }
}
