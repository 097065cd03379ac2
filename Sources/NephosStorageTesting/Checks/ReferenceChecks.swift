import NephosStorage

extension StorageConformance {
    static let references: [StorageCheck] = [
        .engine("Edges are found from both of their ends") { engine in
            let zone = try await engine.makeZone()
            let edges = [
                ReferenceRow(zone: zone, target: "t", kind: .parent, source: "s"),
                ReferenceRow(zone: zone, target: "t", kind: .validate, source: "s"),
                ReferenceRow(zone: zone, target: "u", kind: .deleteSelf, source: "s"),
                ReferenceRow(zone: zone, target: "s", kind: .share, source: "t"),
                ReferenceRow(zone: zone, target: "s", kind: .deleteSelf, source: "s"),
            ]
            try await engine.write { transaction in for edge in edges { try transaction.insert(edge) } }
            let (from, to, none) = try await engine.read { reader in
                (
                    try reader.references(zone: zone, from: "s"),
                    try reader.references(
                        zone: zone, to: "s", kinds: ReferenceRow.Kind.allCases, after: nil, limit: 10),
                    try reader.references(zone: zone, from: "u")
                )
            }
            try expect(Set(from), equals: Set(edges.filter { $0.source == "s" }))
            try expect(from.count, equals: 4)
            try expect(Set(to), equals: Set(edges.filter { $0.target == "s" }))
            try expect(none, equals: [])
        },
        .engine("Edges are added, found and removed by sets, and what is there or not there already does not matter") {
            engine in
            let zone = try await engine.makeZone()
            let edges = ["a", "b", "é", "e\u{301}"].flatMap { target in
                [ReferenceRow.Kind.parent, .deleteSelf, .validate].map {
                    ReferenceRow(zone: zone, target: target, kind: $0, source: "source of \(target)")
                }
            }
            try await engine.write { try $0.insert(Array(edges.prefix(5))) }
            try await engine.write { try $0.insert(edges) }
            let found = try await engine.read {
                try $0.references(zone: zone, to: ["a", "é", "none"], kinds: [.deleteSelf, .parent])
            }
            let expected = edges.filter { edge in
                ["a", "é"].contains { $0.utf8.elementsEqual(edge.target.utf8) } && edge.kind != .validate
            }
            try expect(found.count, equals: 4)
            try expect(
                Set(found.map { "\($0.kind)\(Bytes($0.target))" }),
                equals: Set(expected.map { "\($0.kind)\(Bytes($0.target))" }))
            try await engine.write { try $0.remove(edges.filter { $0.kind == .parent }) }
            try await engine.write { try $0.remove(edges.filter { $0.kind != .validate }) }
            let rest = try await engine.read {
                try $0.references(zone: zone, to: ["a", "b", "é", "e\u{301}"], kinds: ReferenceRow.Kind.allCases)
            }
            try expect(rest.map(\.kind), equals: Array(repeating: .validate, count: 4))
        },
        .engine("All edges that records hold are removed by a set of names, whatever the names are, and no others") {
            engine in
            let zone = try await engine.makeZone()
            let other = try await engine.makeZone("other")
            let names = ["a", "\"", "\\", "b\"]}", "\u{1}\n\u{1F}", "é", "e\u{301}", "{\"x\":1}", "null", "7"]
            let edges = [zone, other].flatMap { zone in
                (names + ["kept"]).flatMap { name in
                    [ReferenceRow.Kind.parent, .deleteSelf].map {
                        ReferenceRow(zone: zone, target: "t of \(name)", kind: $0, source: name)
                    }
                }
            }
            try await engine.write { try $0.insert(edges) }
            try await engine.write {
                try $0.removeReferences(zone: zone, from: [])
                try $0.removeReferences(zone: zone, from: names.filter { !$0.utf8.elementsEqual("é".utf8) } + ["none"])
            }
            let left = try await engine.read { reader in
                try (names + ["kept"]).map { try reader.references(zone: zone, from: $0).count }
            }
            try expect(left, equals: (names + ["kept"]).map { $0.utf8.elementsEqual("é".utf8) || $0 == "kept" ? 2 : 0 })
            let others = try await engine.read { reader in
                try names.map { try reader.references(zone: other, from: $0).count }
            }
            try expect(others, equals: names.map { _ in 2 })
        },
        .engine("Adding an edge twice or removing one that is not there changes nothing") { engine in
            let zone = try await engine.makeZone()
            let edge = ReferenceRow(zone: zone, target: "t", kind: .deleteSelf, source: "s")
            for _ in 0..<2 { try await engine.write { try $0.insert(edge) } }
            try expect(try await engine.read { try $0.references(zone: zone, from: "s") }, equals: [edge])
            for kind in ReferenceRow.Kind.allCases where kind != .deleteSelf {
                try await engine.write {
                    try $0.remove(ReferenceRow(zone: zone, target: "t", kind: kind, source: "s"))
                }
            }
            try expect(try await engine.read { try $0.references(zone: zone, from: "s") }, equals: [edge])
            for _ in 0..<2 { try await engine.write { try $0.remove(edge) } }
            try expect(try await engine.read { try $0.references(zone: zone, from: "s") }, equals: [])
        },
        .engine("Sources come in the order of their names' bytes, page by page") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { transaction in
                for name in trickyTexts.shuffled() {
                    try transaction.insert(ReferenceRow(zone: zone, target: "t", kind: .deleteSelf, source: name))
                    try transaction.insert(ReferenceRow(zone: zone, target: "other", kind: .deleteSelf, source: name))
                }
            }
            var names: [String] = []
            while true {
                let last = names.last
                let page = try await engine.read {
                    try $0.references(zone: zone, to: "t", kinds: [.deleteSelf], after: last, limit: 7)
                }
                if page.isEmpty { break }
                try expect(page.count <= 7, "a page has at most 7 edges")
                names += page.map(\.source)
            }
            try expect(names.asBytes, equals: trickyTexts.sortedByBytes().asBytes)
        },
        .engine("Edges of several kinds are merged by source, and a source's edges are never torn apart") { engine in
            let zone = try await engine.makeZone()
            let kinds = ReferenceRow.Kind.allCases
            try await engine.write { transaction in
                for (index, name) in trickyTexts.enumerated() {
                    for (position, kind) in kinds.enumerated() where index % (position + 1) == 0 {
                        try transaction.insert(ReferenceRow(zone: zone, target: "t", kind: kind, source: name))
                    }
                }
            }
            for wanted in [kinds, [.parent, .share], [.deleteSelf, .deleteSelf], [.validate], []] {
                var expected: Set<Bytes> = []
                for (index, name) in trickyTexts.enumerated() {
                    for (position, kind) in kinds.enumerated()
                    where index % (position + 1) == 0 && wanted.contains(kind) {
                        expected.insert(Bytes("\(kind) \(name)"))
                    }
                }
                var found: [ReferenceRow] = []
                while true {
                    let last = found.last?.source
                    let page = try await engine.read {
                        try $0.references(zone: zone, to: "t", kinds: wanted, after: last, limit: 5)
                    }
                    if page.isEmpty { break }
                    try expect(Set(page.map(\.source).asBytes).count <= 5, "a page has at most 5 sources")
                    found += page
                }
                let order = found.map(\.source)
                try expect(order.asBytes, equals: order.sortedByBytes().asBytes, "kinds \(wanted):")
                try expect(found.count, equals: expected.count, "kinds \(wanted):")
                try expect(Set(found.map { Bytes("\($0.kind) \($0.source)") }), equals: expected, "kinds \(wanted):")
            }
        },
        .engine("What is below a target is counted, over any number of edges, up to a limit") { engine in
            let zone = try await engine.makeZone("1")
            let other = try await engine.makeZone("2", owner: OwnerID(rawValue: 2))
            try await engine.write { transaction in
                for (source, target) in [("a", "r"), ("b", "r"), ("c", "b"), ("d", "c"), ("x", "y")] {
                    try transaction.insert(ReferenceRow(zone: zone, target: target, kind: .parent, source: source))
                }
                try transaction.insert(ReferenceRow(zone: zone, target: "d", kind: .validate, source: "e"))
                try transaction.insert(ReferenceRow(zone: other, target: "d", kind: .parent, source: "e"))
            }
            let found = try await engine.read { reader in
                try [("r", 9), ("r", 4), ("r", 2), ("r", 0), ("c", 9), ("d", 9)].map { target, limit in
                    let extent = try reader.extent(zone: zone, below: target, kind: .parent, limit: limit)
                    return [extent.depth, extent.count]
                }
            }
            try expect(found, equals: [[3, 4], [3, 4], [1, 2], [0, 0], [1, 1], [0, 0]])
        },
        .engine("Edges belong to their zone") { engine in
            let one = try await engine.makeZone("1")
            let two = try await engine.makeZone("2", owner: OwnerID(rawValue: 2))
            try await engine.write {
                try $0.insert(ReferenceRow(zone: one, target: "t", kind: .deleteSelf, source: "s"))
            }
            let found = try await engine.read { reader in
                try reader.references(zone: two, from: "s").count
                    + reader.references(zone: two, to: "t", kinds: [.deleteSelf], after: nil, limit: 9).count
            }
            try expect(found, equals: 0)
        },
    ]
}
