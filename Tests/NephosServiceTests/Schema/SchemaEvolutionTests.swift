import Testing

@testable import NephosService

/// The rules of schema changes.
@Suite struct SchemaEvolutionTests {
    private static func schema(_ statements: String) -> Schema {
        // What is imported is completed, so each schema here is one that was imported into nothing.
        SchemaCommands.planImport("DEFINE SCHEMA " + statements, development: Schema(), production: Schema()).schema
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var development: String
        var production: String
        var findings: [String]
        var testDescription: String { "\(development) → \(text)" }

        init(_ text: String, over development: String = "", production: String = "", _ findings: String...) {
            self.text = text
            self.development = development
            self.production = production
            self.findings = findings
        }
    }

    static let imports = [
        // What is in production stays.
        Row("", over: "RECORD TYPE T (x STRING);"),
        Row(
            "", over: "RECORD TYPE T (x STRING);", production: "RECORD TYPE T (x STRING);",
            "record type 'T' is in the schema of production and cannot be removed"),
        Row(
            "", over: "", production: "RECORD TYPE T (x STRING);",
            "record type 'T' is in the schema of production and cannot be removed"),
        Row("RECORD TYPE T (x STRING);", over: "RECORD TYPE T (x STRING, y STRING);"),
        Row(
            "RECORD TYPE T (x STRING);", over: "RECORD TYPE T (x STRING, y STRING);",
            production: "RECORD TYPE T (y STRING);",
            "field 'y' of record type 'T' is in the schema of production and cannot be removed"),
        // Types are kept.
        Row("RECORD TYPE T (x STRING);", over: "RECORD TYPE T (x STRING);", production: "RECORD TYPE T (x STRING);"),
        Row(
            "RECORD TYPE T (x INT64);", over: "RECORD TYPE T (x STRING);",
            "line 1, column 30: field 'x' of record type 'T' is STRING and cannot become INT64; remove the field in one"
                + " import and add it in the next, or add a field with another name"),
        Row(
            "RECORD TYPE T (x INT64);", over: "RECORD TYPE T (x STRING);", production: "RECORD TYPE T (x STRING);",
            "line 1, column 30: field 'x' of record type 'T' is STRING and cannot become INT64; add a field with another"
                + " name"),
        Row(
            "RECORD TYPE T (x LIST<STRING>);", over: "", production: "RECORD TYPE T (x STRING);",
            "line 1, column 30: field 'x' of record type 'T' is STRING and cannot become LIST<STRING>; add a field with"
                + " another name"),
        Row(
            "RECORD TYPE T (x ENCRYPTED STRING);", over: "RECORD TYPE T (x STRING);",
            production: "RECORD TYPE T (x STRING);",
            "line 1, column 30: field 'x' of record type 'T' is STRING and cannot become ENCRYPTED STRING: a field stays"
                + " plain or encrypted; add a field with another name"),
        Row(
            "RECORD TYPE T (x STRING);", over: "RECORD TYPE T (x ENCRYPTED STRING);",
            production: "RECORD TYPE T (x ENCRYPTED STRING);",
            "line 1, column 30: field 'x' of record type 'T' is ENCRYPTED STRING and cannot become STRING: a field stays"
                + " plain or encrypted; add a field with another name"),
        // A number's preference is given once.
        Row("RECORD TYPE T (x NUMBER PREFERRED AS INT64);", over: "RECORD TYPE T (x NUMBER);"),
        Row(
            "RECORD TYPE T (x LIST<NUMBER PREFERRED AS DOUBLE>);", over: "RECORD TYPE T (x LIST<NUMBER>);",
            production: "RECORD TYPE T (x LIST<NUMBER>);"),
        Row(
            "RECORD TYPE T (x NUMBER);", over: "RECORD TYPE T (x NUMBER PREFERRED AS INT64);",
            "line 1, column 30: field 'x' of record type 'T' is NUMBER PREFERRED AS INT64, which never changes"),
        Row(
            "RECORD TYPE T (x NUMBER PREFERRED AS DOUBLE);", over: "RECORD TYPE T (x NUMBER PREFERRED AS INT64);",
            "line 1, column 30: field 'x' of record type 'T' is NUMBER PREFERRED AS INT64, which never changes"),
        Row(
            "RECORD TYPE T (x INT64);", over: "RECORD TYPE T (x NUMBER);",
            "line 1, column 30: field 'x' of record type 'T' is NUMBER and cannot become INT64; remove the field in one"
                + " import and add it in the next, or add a field with another name"),
        // Options, grants and roles are free.
        Row(
            "RECORD TYPE T (x STRING SORTABLE, GRANT READ TO \"_world\");",
            over: "CREATE ROLE a; RECORD TYPE T (x STRING QUERYABLE, GRANT READ, WRITE TO a);",
            production: "CREATE ROLE a; RECORD TYPE T (x STRING QUERYABLE, GRANT READ, WRITE TO a);"),
        // The system's part.
        Row("RECORD TYPE T (\"___recordID\" REFERENCE QUERYABLE SORTABLE);"),
        Row(
            "RECORD TYPE T (\"___recordID\" STRING);",
            "line 1, column 30: field '___recordID' of record type 'T' belongs to the system and stays REFERENCE"),
        Row(
            "RECORD TYPE T (\"___modTime\" LIST<TIMESTAMP>);", over: "RECORD TYPE T (x STRING);",
            "line 1, column 30: field '___modTime' of record type 'T' belongs to the system and stays TIMESTAMP"),
        Row(
            "RECORD TYPE T (\"___mine\" STRING);",
            "line 1, column 30: field '___mine' of record type 'T' must be named with a letter followed by letters, digits"
                + " and underscores, at most 255"),
        Row("", production: "RECORD TYPE Users (roles LIST<INT64>);"),
        Row("RECORD TYPE Users (age INT64);", over: "RECORD TYPE Users (name STRING);"),
        Row(
            "RECORD TYPE Users (roles STRING);",
            "line 1, column 34: field 'roles' of record type 'Users' belongs to the system and stays LIST<INT64>"),
        Row("RECORD TYPE \"cloudkit.share\" (\"cloudkit.title\" STRING);"),
        Row(
            "", over: "RECORD TYPE \"cloudkit.share\" (x STRING);",
            production: "RECORD TYPE \"cloudkit.share\" (x STRING);"),
        // Names.
        Row(
            "RECORD TYPE \"T 1\" (x STRING);",
            "line 1, column 27: record type 'T 1' must be named with a letter followed by letters, digits and underscores,"
                + " at most 255"),
        Row(
            "CREATE ROLE \"_mine\"; RECORD TYPE T (\"\" STRING);",
            "line 1, column 27: role '_mine' must be named with a letter followed by letters, digits and underscores, at"
                + " most 255",
            "line 1, column 51: field '' of record type 'T' must be named with a letter followed by letters, digits and"
                + " underscores, at most 255"),
        // Roles exist.
        Row("CREATE ROLE a; RECORD TYPE T (GRANT READ TO a, GRANT READ TO \"_icloud\");"),
        Row(
            "RECORD TYPE T (GRANT READ TO a);",
            "line 1, column 30: grant to 'a' on record type 'T' names a role that does not exist; add CREATE ROLE a;"),
        // Indexes are possible.
        Row(
            "RECORD TYPE T (x ASSET QUERYABLE);",
            "line 1, column 30: field 'x' of record type 'T' is ASSET and cannot be QUERYABLE; fields of the type have no"
                + " index"),
        Row(
            "RECORD TYPE T (x ENCRYPTED STRING QUERYABLE SORTABLE);",
            "line 1, column 30: field 'x' of record type 'T' is ENCRYPTED STRING and cannot be QUERYABLE, SORTABLE; fields"
                + " of the type have no index"),
        Row(
            "RECORD TYPE T (x INT64 QUERYABLE SEARCHABLE);",
            "line 1, column 30: field 'x' of record type 'T' is INT64 and cannot be SEARCHABLE; it can be QUERYABLE,"
                + " SORTABLE"),
        Row(
            "RECORD TYPE T (x BYTES SEARCHABLE);",
            "line 1, column 30: field 'x' of record type 'T' is BYTES and cannot be SEARCHABLE; fields of the type have no"
                + " index"),
        Row("RECORD TYPE T (x LIST<STRING> QUERYABLE SEARCHABLE, y LOCATION QUERYABLE SORTABLE);"),
        Row(
            "RECORD TYPE T (x BYTES QUERYABLE SORTABLE);",
            "line 1, column 30: warning: field 'x' of record type 'T' is BYTES: QUERYABLE, SORTABLE is kept and has no"
                + " effect"),
        // Nothing is declared twice.
        Row(
            "RECORD TYPE T (x STRING, x STRING);",
            "line 1, column 40: field 'x' of record type 'T' is declared twice, first at line 1, column 30"),
    ]

    @Test(arguments: imports)
    func `an import keeps the rules`(row: Row) {
        let plan = SchemaCommands.planImport(
            "DEFINE SCHEMA " + row.text, development: Self.schema(row.development),
            production: Self.schema(row.production))
        #expect(plan.findings.map(\.description) == row.findings)
        #expect(plan.isAllowed == row.findings.allSatisfy { $0.contains("warning") })
    }

    @Test func `an invalid import changes nothing`() {
        let development = Self.schema("RECORD TYPE T (x STRING);")
        let plan = SchemaCommands.planImport("DEFINE", development: development, production: Schema())
        #expect(!plan.isAllowed)
        #expect(plan.schema == development)
        #expect(plan.losses.isEmpty && plan.indexChanges.isEmpty)
    }

    @Test func `an import names what it drops`() {
        let plan = SchemaCommands.planImport(
            "DEFINE SCHEMA RECORD TYPE B (x STRING);",
            development: Self.schema("RECORD TYPE B (y STRING, x STRING, a INT64); RECORD TYPE A (z STRING);"),
            production: Schema())
        #expect(plan.isAllowed)
        #expect(
            plan.losses == [
                SchemaLoss(recordType: "A"), SchemaLoss(recordType: "B", field: "a"),
                SchemaLoss(recordType: "B", field: "y"),
            ])
        #expect(!plan.schema.hasRecordType("A"))
        #expect(plan.schema.type(of: "y", in: "B") == nil)
        #expect(plan.schema.hasRecordType("Users"))
    }

    @Test func `records with values of a dropped field are named`() {
        let loss = SchemaLoss(recordType: "B", field: "y")
        #expect(
            loss.finding(recordNames: ["r1"], count: 1).description
                == "field 'y' of record type 'B' cannot be dropped: 1 record would lose data: 'r1'")
        #expect(
            SchemaLoss(recordType: "A").finding(recordNames: (1...9).map { "r\($0)" }, count: 1200).description
                == "record type 'A' cannot be dropped: 1200 records would lose data: 'r1', 'r2', 'r3', 'r4', 'r5' and 1195"
                + " more")
    }

    @Test func `an import says which indexes change`() {
        let plan = SchemaCommands.planImport(
            """
            DEFINE SCHEMA
            RECORD TYPE T (a STRING SORTABLE SEARCHABLE, b INT64 QUERYABLE, new STRING QUERYABLE, data BYTES QUERYABLE);
            RECORD TYPE U (a STRING QUERYABLE);
            """,
            development: Self.schema(
                """
                RECORD TYPE T ("___recordID" REFERENCE QUERYABLE, a STRING QUERYABLE SORTABLE, b INT64 QUERYABLE,
                    gone STRING SEARCHABLE, data BYTES);
                """),
            production: Schema())
        #expect(plan.isAllowed)
        #expect(
            plan.indexChanges == [
                IndexChange(recordType: "T", field: "___recordID", added: [], removed: .queryable),
                IndexChange(recordType: "T", field: "a", added: .searchable, removed: .queryable),
                IndexChange(recordType: "T", field: "gone", added: [], removed: .searchable),
                IndexChange(recordType: "T", field: "new", added: .queryable, removed: []),
            ])
    }

    @Test func `a type without a grant gets the standard grants`() {
        let schema = Self.schema("RECORD TYPE T (x STRING);")
        #expect(schema.recordTypes["T"]?.grants == .standard(for: "T"))
        #expect(SchemaCommands.export(schema).contains("GRANT CREATE TO \"_icloud\",\n"))
    }

    @Test(arguments: 0..<100)
    func `importing an export changes nothing`(seed: UInt64) {
        var schemas = RandomSchemas(seed: seed)
        let development = SchemaCommands.planImport(
            SchemaCommands.export(schemas.schema()), development: Schema(), production: Schema()
        ).schema
        let plan = SchemaCommands.planImport(
            SchemaCommands.export(development), development: development, production: development)
        #expect(plan.schema == development, "seed \(seed)")
        #expect(plan.isAllowed, "seed \(seed): \(plan.findings)")
        #expect(plan.losses.isEmpty && plan.indexChanges.isEmpty, "seed \(seed)")
    }

    // MARK: - Deployment

    @Test func `a deployment adds and never drops`() {
        let plan = SchemaCommands.planDeployment(
            of: Self.schema(
                """
                CREATE ROLE b;
                RECORD TYPE T (x STRING SORTABLE, n NUMBER PREFERRED AS INT64, p NUMBER, new INT64, GRANT READ TO b);
                RECORD TYPE New (a ASSET);
                """),
            to: Self.schema(
                """
                CREATE ROLE a;
                RECORD TYPE T (x STRING QUERYABLE, n NUMBER, p NUMBER PREFERRED AS DOUBLE, old BYTES);
                RECORD TYPE Old (GRANT READ TO a);
                """))
        #expect(
            plan.schema
                == Self.schema(
                    """
                    CREATE ROLE a; CREATE ROLE b;
                    RECORD TYPE T (x STRING QUERYABLE SORTABLE, n NUMBER PREFERRED AS INT64, p NUMBER PREFERRED AS DOUBLE,
                        old BYTES, new INT64, GRANT READ TO b);
                    RECORD TYPE Old (GRANT READ TO a);
                    RECORD TYPE New (a ASSET);
                    """))
        #expect(plan.losses.isEmpty)
        #expect(plan.indexChanges == [IndexChange(recordType: "T", field: "x", added: .sortable, removed: [])])
        // A pinned number in production is not unpinned silently: development disagrees with it.
        #expect(
            plan.findings.map(\.description) == [
                "field 'p' of record type 'T' is NUMBER PREFERRED AS DOUBLE, which never changes"
            ])
    }

    @Test(arguments: 0..<100)
    func `production keeps everything, whatever is deployed`(seed: UInt64) {
        var schemas = RandomSchemas(seed: seed)
        let production = schemas.schema()
        let development = schemas.schema()
        let plan = SchemaCommands.planDeployment(of: development, to: production)
        #expect(plan.losses.isEmpty, "seed \(seed)")
        #expect(plan.indexChanges.allSatisfy { $0.removed.isEmpty }, "seed \(seed)")
        #expect(plan.schema.roles.isSuperset(of: production.roles.union(development.roles)), "seed \(seed)")
        if plan.isAllowed {
            #expect(SchemaChanges.losses(from: development, to: plan.schema).isEmpty, "seed \(seed)")
            let again = SchemaCommands.planDeployment(of: development, to: plan.schema)
            #expect(again.schema == plan.schema && again.indexChanges.isEmpty, "seed \(seed)")
        }
    }

    @Test func `a deployment refuses a field of another type`() {
        let plan = SchemaCommands.planDeployment(
            of: Self.schema("RECORD TYPE T (x STRING);"), to: Self.schema("RECORD TYPE T (x INT64);"))
        #expect(
            plan.findings.map(\.description) == [
                "field 'x' of record type 'T' is INT64 and cannot become STRING; add a field with another name"
            ])
    }

    @Test func `a reset gives development production's schema`() {
        let production = Self.schema("RECORD TYPE T (x STRING);")
        let plan = SchemaCommands.planReset(of: Self.schema("RECORD TYPE U (x STRING);"), to: production)
        #expect(plan.schema == production)
        #expect(plan.losses == [SchemaLoss(recordType: "U")])
        #expect(plan.isAllowed)
    }

    @Test func `a valid schema is reported valid, with warnings for its author`() {
        #expect(
            SchemaCommands.report(SchemaCommands.validate("DEFINE SCHEMA RECORD TYPE T (x STRING);"))
                == "✅ Schema is valid.")
        #expect(
            SchemaCommands.report(SchemaCommands.validate("DEFINE SCHEMA RECORD TYPE T (x BYTES QUERYABLE);"))
                .hasPrefix(
                    "✅ Schema is valid.\nline 1, column 30: warning: "))
    }
}
