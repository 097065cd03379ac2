import CloudKit

/// The world in the public database: a record for each country, one for each subdivision that its country owns, and some
/// cities.
struct World {
    static let batchSize = 400

    let database: CKDatabase

    static func countryID(_ code: String) -> CKRecord.ID { CKRecord.ID(recordName: code) }

    func save(_ codes: ISOCodes) async throws {
        try await save(codes.countries.map(record))
        try await save(codes.subdivisions.map(record))
    }

    func save(_ places: Places) async throws {
        try await save(places.cities.map(record))
    }

    private func record(_ city: Places.City) -> CKRecord {
        let record = CKRecord(recordType: "City", recordID: CKRecord.ID(recordName: city.zone))
        record["name"] = city.name
        record["location"] = city.location
        record["countries"] = city.countries.map { code in
            CKRecord.Reference(recordID: Self.countryID(code), action: .none)
        }
        return record
    }

    private func record(_ country: ISOCodes.Country) -> CKRecord {
        let record = CKRecord(recordType: "Country", recordID: Self.countryID(country.code))
        record["name"] = country.name
        record["flag"] = country.flag
        return record
    }

    private func record(_ subdivision: ISOCodes.Subdivision) -> CKRecord {
        let record = CKRecord(recordType: "Subdivision", recordID: CKRecord.ID(recordName: subdivision.code))
        let country = Self.countryID(subdivision.country)
        record["name"] = subdivision.name
        record["kind"] = subdivision.type
        record["country"] = CKRecord.Reference(recordID: country, action: .deleteSelf)
        record.setParent(country)
        return record
    }

    private func save(_ records: [CKRecord]) async throws {
        for start in stride(from: 0, to: records.count, by: Self.batchSize) {
            let batch = Array(records[start..<min(start + Self.batchSize, records.count)])
            let (saved, _) = try await database.modifyRecords(saving: batch, deleting: [], savePolicy: .allKeys)
            for result in saved.values { _ = try result.get() }
        }
    }

    /// All records that a query finds, page by page.
    func find(_ query: CKQuery) async throws -> [CKRecord] {
        var page = try await database.records(matching: query)
        var found = page.matchResults
        while let cursor = page.queryCursor {
            page = try await database.records(continuingMatchFrom: cursor)
            found += page.matchResults
        }
        return try found.map { try $0.1.get() }
    }

    /// The records of those names that exist.
    func fetch(_ names: [String]) async throws -> [CKRecord] {
        var found: [CKRecord] = []
        for start in stride(from: 0, to: names.count, by: Self.batchSize) {
            let ids = names[start..<min(start + Self.batchSize, names.count)].map { CKRecord.ID(recordName: $0) }
            for (_, result) in try await database.records(for: ids) {
                do {
                    found.append(try result.get())
                } catch let error as CKError where error.code == .unknownItem {
                    continue
                }
            }
        }
        return found
    }
}
