import NephosStorage

extension StorageConformance {
    private static func asset(_ owner: Int64, _ content: UInt8, size: Int64 = 10, until: Int64 = 5) -> AssetRow {
        AssetRow(
            owner: OwnerID(rawValue: owner), content: [content, 0, 255], size: size, checksum: "c\(content)",
            file: "file-\(owner)-\(content)", neededUntil: until)
    }

    private static func neededUntil(_ asset: AssetRow, _ engine: any StorageEngine) async throws -> Int64? {
        try await engine.read { try $0.asset(owner: asset.owner, content: asset.content)?.neededUntil }
    }

    static let assets: [StorageCheck] = [
        .engine("A file is found by its owner and content, and counts towards its owner's bytes") { engine in
            let (one, two) = (asset(1, 7, size: 10), asset(2, 7, size: 30))
            try expect(try await engine.read { try $0.hasAssets() }, equals: false)
            try await engine.write { transaction in
                try transaction.insert(one)
                try transaction.insert(two)
            }
            let found = try await engine.read { reader in
                [
                    try reader.asset(owner: one.owner, content: one.content),
                    try reader.asset(owner: two.owner, content: two.content),
                    try reader.asset(owner: one.owner, content: [7]),
                ]
            }
            try expect(found, equals: [one, two, nil])
            let bytes = try await engine.read { reader in
                try [Int64(1), 2, 3].map { try reader.assetBytes(owner: OwnerID(rawValue: $0)) }
            }
            try expect(bytes, equals: [10, 30, 0])
            let named = try await engine.read { reader in
                [try reader.hasAssetFile(named: one.file), try reader.hasAssetFile(named: "file-1-8")]
            }
            try expect(named, equals: [true, false])
            let files = try await engine.read { try $0.assets(afterFile: one.file, limit: 10).map(\.file) }
            try expect(files, equals: [two.file])
            try await expect(.constraint, "the same content twice") {
                try await engine.write { try $0.insert(one) }
            }
        },
        .engine("A file that a record refers to is needed until the last record lets go of it") { engine in
            let file = asset(1, 7)
            let zone = ZoneKey(owner: file.owner, id: 3)
            try await engine.write { transaction in
                try transaction.insert(file)
                for record in ["a", "b", "b"] {
                    try transaction.insertAssetReference(file.content, zone: zone, record: record)
                }
            }
            try expect(try await neededUntil(file, engine), equals: AssetRow.referenced)
            try await engine.write {
                try $0.removeAssetReference(file.content, zone: zone, record: "a", neededUntil: 50)
            }
            try expect(try await neededUntil(file, engine), equals: AssetRow.referenced)
            try await engine.write {
                try $0.removeAssetReference(file.content, zone: zone, record: "b", neededUntil: 60)
            }
            try expect(try await neededUntil(file, engine), equals: 60)
            try await engine.write { try $0.keepAsset(owner: file.owner, content: file.content, until: 20) }
            try expect(try await neededUntil(file, engine), equals: 60)
            try await engine.write { try $0.keepAsset(owner: file.owner, content: file.content, until: 70) }
            try expect(try await neededUntil(file, engine), equals: 70)
        },
        .engine("What records of a zone refer to is purged step by step") { engine in
            let file = asset(1, 7)
            let (zone, other) = (ZoneKey(owner: file.owner, id: 3), ZoneKey(owner: file.owner, id: 4))
            try await engine.write { transaction in
                try transaction.insert(file)
                for record in ["a", "b", "c"] {
                    try transaction.insertAssetReference(file.content, zone: zone, record: record)
                }
                try transaction.insertAssetReference(file.content, zone: other, record: "a")
            }
            var counts: [Int] = []
            for _ in 0..<3 {
                counts.append(
                    try await engine.write { try $0.purgeAssetReferences(zone: zone, limit: 2, neededUntil: 80) })
            }
            try expect(counts, equals: [2, 1, 0])
            try expect(try await neededUntil(file, engine), equals: AssetRow.referenced)
            _ = try await engine.write { try $0.purgeAssetReferences(zone: other, limit: 2, neededUntil: 80) }
            try expect(try await neededUntil(file, engine), equals: 80)
        },
        .engine("A content whose file is replaced keeps all else, and its former file is condemned") { engine in
            let file = asset(1, 7)
            let zone = ZoneKey(owner: file.owner, id: 3)
            try await engine.write { transaction in
                try transaction.insert(file)
                try transaction.insertAssetReference(file.content, zone: zone, record: "a")
                try transaction.replaceFile(of: file, by: "another")
            }
            var expected = file
            (expected.file, expected.neededUntil) = ("another", AssetRow.referenced)
            try expect(
                try await engine.read { try $0.asset(owner: file.owner, content: file.content) }, equals: expected)
            try expect(try await engine.read { try $0.condemnedAssetFiles(limit: 10) }, equals: [file.file])
            try expect(try await engine.read { try $0.assetBytes(owner: file.owner) }, equals: file.size)
        },
        .engine(
            "A file that becomes another owner's counts towards its bytes, and takes the place of the content it has"
        ) {
            engine in
            let (first, second) = (asset(-2, 7, size: 10), asset(-2, 8, size: 10))
            let kept = asset(1, 9, size: 10, until: AssetRow.referenced)
            try await engine.write { transaction in
                for file in [first, second, kept] { try transaction.insert(file) }
                try transaction.move(first, to: kept.owner, content: [1], neededUntil: 30)
                try transaction.move(second, to: kept.owner, content: kept.content, neededUntil: 30)
            }
            var (moved, replaced) = (first, kept)
            (moved.owner, moved.content, moved.neededUntil) = (kept.owner, [1], 30)
            replaced.file = second.file
            let rows = try await engine.read { try $0.assets(afterFile: "", limit: 10) }
            try expect(rows, equals: [moved, replaced])
            try expect(try await engine.read { try $0.condemnedAssetFiles(limit: 10) }, equals: [kept.file])
            let bytes = try await engine.read { reader in
                try [-2, 1].map { try reader.assetBytes(owner: OwnerID(rawValue: $0)) }
            }
            try expect(bytes, equals: [0, 20])
        },
        .engine("Of an owner's files those that are not needed are found, and those of a range expired") { engine in
            let zone = ZoneKey(owner: OwnerID(rawValue: 1), id: 3)
            try await engine.write { transaction in
                for content in UInt8(1)...4 { try transaction.insert(asset(1, content, until: 50 - Int64(content))) }
                try transaction.insert(asset(2, 1, until: 1))
                try transaction.insertAssetReference([2, 0, 255], zone: zone, record: "a")
            }
            let unneeded = try await engine.read {
                try $0.unneededAssets(owner: zone.owner, neededBefore: 49, limit: 2).map(\.file)
            }
            try expect(unneeded, equals: ["file-1-4", "file-1-3"])
            try expect(try await engine.read { try $0.assetCount(owner: zone.owner, limit: 3) }, equals: 3)
            try expect(try await engine.read { try $0.assetCount(owner: zone.owner, limit: 9) }, equals: 4)
            let references = try await engine.read { reader in
                try [UInt8(2), 3].map { try reader.hasAssetReference([$0, 0, 255], zone: zone, record: "a") }
            }
            try expect(references, equals: [true, false])
            try await engine.write { try $0.expireAssets(owner: zone.owner, contentFrom: [3], to: [4]) }
            let needed = try await engine.read { reader in
                try (UInt8(1)...4).map { try reader.asset(owner: zone.owner, content: [$0, 0, 255])?.neededUntil }
            }
            try expect(needed, equals: [49, AssetRow.referenced, 0, 46])
        },
        .engine("Files that are not needed are condemned, the longest unneeded first, and their content is free again")
        {
            engine in
            try await engine.write { transaction in
                for content in UInt8(1)...5 { try transaction.insert(asset(1, content, until: Int64(content) * 10)) }
            }
            try expect(try await engine.read { try $0.hasAsset(neededBefore: 10) }, equals: false)
            try expect(try await engine.read { try $0.hasAsset(neededBefore: 11) }, equals: true)
            let count = try await engine.write { try $0.condemnAssets(neededBefore: 41, limit: 3) }
            try expect(count, equals: 3)
            let condemned = try await engine.read { try $0.condemnedAssetFiles(limit: 10) }
            try expect(condemned, equals: ["file-1-1", "file-1-2", "file-1-3"])
            try expect(try await neededUntil(asset(1, 1), engine), equals: nil)
            try expect(try await engine.read { try $0.assetBytes(owner: OwnerID(rawValue: 1)) }, equals: 20)
            try await engine.write { transaction in
                try transaction.removeCondemnedAsset(file: "file-1-2")
                var again = asset(1, 1)
                again.file = "file-1-1-again"
                try transaction.insert(again)
            }
            try expect(try await engine.read { try $0.condemnedAssetFiles(limit: 1) }, equals: ["file-1-1"])
        },
    ]
}
