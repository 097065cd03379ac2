import CloudKit

/// A keyed archive put together as Apple's Foundation lays it out, with whatever class names and keys.
struct AppleArchive {
    /// Refers to an object of the archive.
    struct Reference {
        fileprivate let index: Int
        /// The XML form of property lists writes a reference so.
        var plist: [String: Any] { ["CF$UID": index] }
    }

    private var objects: [Any] = ["$null"]
    private var classes: [String: Reference] = [:]

    mutating func add(_ object: Any) -> Reference {
        objects.append(object)
        return Reference(index: objects.count - 1)
    }

    /// An object of the class whose name comes first, followed by its superclasses but NSObject.
    mutating func add(_ classNames: String..., values: [String: Any]) -> Reference {
        let name = classNames[0]
        let type = classes[name] ?? add(["$classname": name, "$classes": classNames + ["NSObject"]])
        classes[name] = type
        return add(values.mapValues { ($0 as? Reference)?.plist ?? $0 }.merging(["$class": type.plist]) { $1 })
    }

    mutating func dictionary(_ values: [(String, Reference)]) -> Reference {
        let keys = values.map { add($0.0).plist }
        return add(
            "NSMutableDictionary", "NSDictionary",
            values: ["NS.keys": keys, "NS.objects": values.map { $0.1.plist }])
    }

    mutating func set(_ elements: [String]) -> Reference {
        let elements = elements.map { add($0).plist }
        return add("NSMutableSet", "NSSet", values: ["NS.objects": elements])
    }

    mutating func array(_ elements: [Reference]) -> Reference {
        add("NSArray", values: ["NS.objects": elements.map(\.plist)])
    }

    mutating func date(_ date: Date) -> Reference {
        add("NSDate", values: ["NS.time": date.timeIntervalSinceReferenceDate])
    }

    mutating func recordID(_ name: String, zone: String, owner: String = CKCurrentUserDefaultName) -> Reference {
        let zoneID = add(
            "CKRecordZoneID",
            values: [
                "ZoneName": add(zone), "ownerName": add(owner), "databaseScopeKey": 0,
                "anonymousCKUserID": Reference(index: 0),
            ])
        return add("CKRecordID", values: ["RecordName": add(name), "ZoneID": zoneID])
    }

    mutating func reference(_ recordID: Reference, deleteSelf: Bool) -> Reference {
        add("CKReference", values: ["RecordID": recordID, "ReferenceAction": deleteSelf ? 1 : 0])
    }

    /// The archive's bytes, with those values at the top level.
    func data(top: [String: Any]) throws -> Data {
        let plist: [String: Any] = [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$objects": objects,
            "$top": top.mapValues { ($0 as? Reference)?.plist ?? $0 },
        ]
        return try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0)
    }
}

extension AppleArchive {
    /// What stands for nil.
    var null: Reference { Reference(index: 0) }
}
