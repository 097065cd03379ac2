import CloudKit

#if canImport(os)
    import os
#endif

/// The items in the user's private database.
struct ItemStore {
    private var database: CKDatabase { CKContainer.default().privateCloudDatabase }

    func items() async throws -> [Item] {
        let query = CKQuery(recordType: Item.recordType, predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        do {
            return try await database.records(matching: query).matchResults.map { Item(try $0.1.get()) }
        } catch CKError.unknownItem {
            return []  // no item was ever saved
        }
    }

    func add(_ name: String) async throws {
        let record = CKRecord(recordType: Item.recordType)
        Item(id: record.recordID, name: name).write(to: record)
        try await database.save(record)
    }

    /// Marks an item as bought, whatever other devices saved meanwhile.
    func buy(_ item: Item) async throws {
        var record = try await database.record(for: item.id)
        while true {
            record["isBought"] = true
            do {
                try await database.save(record)
                return
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let newer = error.serverRecord else { throw error }
                log("\(item.name) was changed by another device")
                record = newer
            }
        }
    }

    private func log(_ message: String) {
        #if canImport(os)
            Logger(subsystem: "org.example.Groceries", category: "sync").info("\(message)")
        #endif
    }
}
