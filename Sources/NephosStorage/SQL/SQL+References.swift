extension SQL {
    /// The statements about references; nil for another.
    var referenceText: String? {
        switch self {
        case .referencesTo:
            """
            SELECT source FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4
            ORDER BY source LIMIT $5
            """
        case .referencesToAny:
            """
            SELECT target, kind, source FROM reference WHERE owner = $1 AND zone = $2 AND target IN (\(Self.listed))
            ORDER BY target, kind, source
            """
        case .referencesToAfter:
            """
            SELECT source FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4 AND source > $5
            ORDER BY source LIMIT $6
            """
        case .referencesBelow:
            """
            WITH RECURSIVE below (name, depth) AS (
                SELECT source, 1 FROM reference WHERE owner = $1 AND zone = $2 AND kind = $3 AND target = $4
                UNION ALL
                SELECT r.source, below.depth + 1 FROM below JOIN reference AS r ON r.owner = $1 AND r.zone = $2
                    AND r.kind = $3 AND r.target = below.name)
            SELECT max(depth), count(*) FROM (SELECT depth FROM below LIMIT $5) AS found
            """
        case .referencesFrom:
            """
            SELECT target, kind FROM reference WHERE owner = $1 AND zone = $2 AND source = $3 ORDER BY target, kind
            """
        case .insertReference:
            """
            INSERT INTO reference (owner, zone, target, kind, source) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT DO NOTHING
            """
        case .removeReference:
            """
            DELETE FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4 AND source = $5
            """
        case .removeReferencesFromAny:
            "DELETE FROM reference WHERE owner = $1 AND zone = $2 AND source IN (\(Self.listed))"
        case .purgeReferences:
            """
            DELETE FROM reference WHERE owner = $1 AND zone = $2 AND (target, kind, source) IN (
                SELECT target, kind, source FROM reference WHERE owner = $1 AND zone = $2
                ORDER BY target, kind, source LIMIT $3)
            """
        default: nil
        }
    }
}
