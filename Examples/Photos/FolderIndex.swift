import CloudKit

/// What is known of a folder's files, kept in `.photos.json` in it.
struct FolderIndex: Codable {
    /// A file as it was when it was last in step.
    struct Known: Codable {
        /// Of the content that the record has; nil once the file was removed here.
        var modified: Date?
        /// The record without its fields: with it a save can tell whether another device was faster.
        var systemFields: Data
        var changeTag: String?
    }

    var files: [String: Known] = [:]
    var state: CKSyncEngine.State.Serialization?

    static let zoneID = CKRecordZone.ID(zoneName: "Photos")

    init(_ folder: URL) {
        let data = try? Data(contentsOf: Self.url(folder))
        self = data.flatMap { try? JSONDecoder().decode(Self.self, from: $0) } ?? Self()
    }

    private init() {}

    private static func url(_ folder: URL) -> URL { folder.appendingPathComponent(".photos.json") }

    func save(in folder: URL) {
        guard let data = try? JSONEncoder().encode(self) else { return }
        try? data.write(to: Self.url(folder), options: .atomic)
    }

    // MARK: Records

    /// Record names are ASCII, file names are not.
    static func recordID(_ name: String) -> CKRecord.ID {
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? name
        return CKRecord.ID(recordName: "photo-" + escaped, zoneID: zoneID)
    }

    static func name(_ recordID: CKRecord.ID) -> String? {
        let name = recordID.recordName.dropFirst("photo-".count).description.removingPercentEncoding
        // Nothing that another device sends may lead out of the folder.
        return name.flatMap { $0.isEmpty || $0.hasPrefix(".") || $0.contains("/") ? nil : $0 }
    }

    /// The file's record, without its fields.
    func record(_ name: String) -> CKRecord {
        let known = files[name].flatMap { known -> CKRecord? in
            guard let coder = try? NSKeyedUnarchiver(forReadingFrom: known.systemFields) else { return nil }
            coder.requiresSecureCoding = true
            defer { coder.finishDecoding() }
            return CKRecord(coder: coder)
        }
        return known ?? CKRecord(recordType: "Photo", recordID: Self.recordID(name))
    }

    /// Notes that the file as it was at `modified` is what the record has.
    mutating func keep(_ record: CKRecord, _ name: String, modified: Date?) {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        files[name] = Known(
            modified: modified, systemFields: coder.encodedData, changeTag: record.recordChangeTag)
    }
}
