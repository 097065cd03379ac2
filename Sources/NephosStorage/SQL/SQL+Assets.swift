extension SQL {
    private static let assets = "SELECT owner, content, size, checksum, file, needed_until FROM asset"

    /// The statements about assets; nil for another.
    var assetText: String? {
        switch self {
        case .asset: "\(Self.assets) WHERE owner = $1 AND content = $2"
        case .assetsByFile: "\(Self.assets) WHERE \(Self.ofStore()) AND file > $1 ORDER BY file LIMIT $2"
        case .assetFile: "SELECT 1 FROM asset WHERE \(Self.ofStore()) AND file = $1"
        case .anyAsset: "SELECT 1 FROM asset WHERE \(Self.ofStore()) LIMIT 1"
        case .assetBytes: "SELECT bytes FROM asset_usage WHERE owner = $1"
        case .assetBytesOfFiles: "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM asset WHERE owner = $1"
        case .anyExpiredAsset: "SELECT 1 FROM asset WHERE \(Self.ofStore()) AND needed_until < $1 LIMIT 1"
        case .expiredAssets:
            "\(Self.assets) WHERE \(Self.ofStore()) AND needed_until < $1 ORDER BY needed_until LIMIT $2"
        case .insertAsset:
            "INSERT INTO asset (owner, content, size, checksum, file, needed_until) VALUES ($1, $2, $3, $4, $5, $6)"
        case .addAssetBytes:
            """
            INSERT INTO asset_usage (owner, bytes) VALUES ($1, $2)
            ON CONFLICT (owner) DO UPDATE SET bytes = asset_usage.bytes + excluded.bytes
            """
        case .keepAsset:
            """
            UPDATE asset SET needed_until = $1 WHERE owner = $2 AND content = $3 AND needed_until < $1
            """
        case .replaceAssetFile: "UPDATE asset SET file = $1 WHERE owner = $2 AND content = $3"
        case .releaseAsset:
            """
            UPDATE asset SET needed_until = $1 WHERE owner = $2 AND content = $3 AND NOT EXISTS (
                SELECT 1 FROM asset_reference AS r WHERE r.owner = asset.owner AND r.content = asset.content)
            """
        case .unneededAssets:
            // `+owner` keeps SQLite from using the index by owner. Most files of an owner are needed, so the unneeded
            // ones are found by their time.
            "\(Self.assets) WHERE +owner = $1 AND needed_until < $2 ORDER BY needed_until LIMIT $3"
        case .firstAssets: "SELECT 1 FROM asset WHERE owner = $1 LIMIT $2"
        case .moveAsset:
            "UPDATE asset SET owner = $1, content = $2, needed_until = $3 WHERE owner = $4 AND content = $5"
        case .expireAssets:
            "UPDATE asset SET needed_until = 0 WHERE owner = $1 AND content >= $2 AND content < $3"
        case .removeAsset: "DELETE FROM asset WHERE owner = $1 AND content = $2"
        default: nil
        }
    }

    /// The statements about references to assets, and files to be removed; nil for another.
    var assetReferenceText: String? {
        switch self {
        case .assetReference:
            "SELECT 1 FROM asset_reference WHERE owner = $1 AND zone = $2 AND record = $3 AND content = $4"
        case .assetReferencesOfZone:
            "SELECT record, content FROM asset_reference WHERE owner = $1 AND zone = $2 LIMIT $3"
        case .insertAssetReference:
            """
            INSERT INTO asset_reference (owner, zone, record, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
            """
        case .removeAssetReference:
            "DELETE FROM asset_reference WHERE owner = $1 AND zone = $2 AND record = $3 AND content = $4"
        case .condemnedAssets: "SELECT file FROM condemned_asset WHERE \(Self.ofStore("store")) ORDER BY file LIMIT $1"
        case .condemnAsset: "INSERT INTO condemned_asset (file) VALUES ($1) ON CONFLICT DO NOTHING"
        case .removeCondemnedAsset: "DELETE FROM condemned_asset WHERE \(Self.ofStore("store")) AND file = $1"
        default: nil
        }
    }
}
