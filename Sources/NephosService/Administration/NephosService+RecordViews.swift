import NephosStorage
package import NephosWire

/// The views of an administrator on records. They read as no account, and make nothing: no account, zone, type or index.
/// Encrypted fields come as they are stored, and to a filter they are absent.
extension NephosService {
    /// Lists the records of a zone, the last changed first. A page reads `Limits.browsedRecords` records at most, so it may
    /// end before it has as many as the request wants. A sorted page has the first of those that it reads.
    package func listRecords(
        _ request: ListRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ListRecordsResponse {
        let limit = request.resultsLimit ?? Limits.recordsPerList
        guard (1...Limits.recordsPerList).contains(limit) else {
            throw .invalid("resultsLimit is a number from 1 to \(Limits.recordsPerList)")
        }
        try checkFilters(request.filterBy)
        guard request.sortBy.count <= configuration.queries.sortsPerQuery else {
            throw .limitExceeded(
                "the list has \(request.sortBy.count) sort descriptors; at most \(configuration.queries.sortsPerQuery) are "
                    + "allowed")
        }
        let unused = request.place.account == nil ? ListRecordsResponse() : nil
        let bounds = configuration.queries
        return try await browse(request.place, context, ifUnused: unused) { store, caller, zone, reader in
            var request = request
            if let type = request.recordType, !request.filterBy.isEmpty {
                let filters = request.filterBy
                request.filterBy = try store.schemas.deciding(asOf: store.schemas.now, reader) {
                    schema throws(ServiceError) in
                    try QueryValidation(
                        schema: schema, caller: caller, container: context.container, bounds: bounds,
                        needsIndexes: false
                    ).fitted(filters, of: type)
                }
            }
            var list = RecordList(request, limit: limit, zone: zone, caller: caller, accounts: store.accounts, reader)
            return try list.run()
        }
    }

    /// Returns a record, and the records of its zone that refer to it.
    package func showRecord(
        _ request: ShowRecordRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ShowRecordResponse {
        try await browse(request.place, context) { store, caller, zone, reader in
            guard request.recordName.isStorable else { throw ServiceError.recordNotFound }
            let records = RecordEncoder(encoded: false, reserving: 0, store.accounts, reader, caller)
            let projection = RecordProjection(desiredKeys: nil, numbersAsStrings: false, assets: caller.assets)
            guard let row = try reader.record(zone: zone.key, named: request.recordName),
                !row.isDeleted || row.isDamaged
            else { throw ServiceError.recordNotFound }
            try records.add(row, projection)
            let edges = try reader.references(
                zone: zone.key, to: row.name, kinds: [.parent, .share, .deleteSelf, .validate], after: nil,
                limit: Limits.recordsPerList + 1)
            let shown = edges.prefix(Limits.recordsPerList)
            guard let record = try records.finish().records.first else { throw ServiceError.recordNotFound }
            return ShowRecordResponse(
                record: record, referredBy: shown.map { .init(recordName: $0.source, kind: $0.kind.name) },
                isComplete: shown.count == edges.count)
        }
    }

    /// - Throws: `limitExceeded` beyond the bounds of filters, as each of them is compared with each record.
    private func checkFilters(_ filters: [Filter]) throws(ServiceError) {
        guard filters.count <= Limits.filtersPerList else {
            throw .limitExceeded("the list has \(filters.count) filters; at most \(Limits.filtersPerList) are allowed")
        }
        let bounds = configuration.queries
        for filter in filters {
            guard case .list(_, let values) = filter.fieldValue.value, values.count > bounds.valuesPerFilter else {
                continue
            }
            throw .limitExceeded("a filter of the list has more than \(bounds.valuesPerFilter) values")
        }
        guard filters.reduce(0, { $0 + $1.fieldValue.storedSize }) <= bounds.filterBytesPerQuery else {
            throw .limitExceeded("the values of the filters have more than \(bounds.filterBytesPerQuery) bytes")
        }
    }

    /// Reads a zone. The answer names accounts, shares and files as the zone's owner sees them.
    private func browse<Answer: Sendable>(
        _ place: AdministeredZone, _ context: RequestContext, ifUnused unused: Answer? = nil,
        _ body: @escaping @Sendable (Store, Caller, ZoneRow, StorageReader) throws -> Answer
    ) async throws(ServiceError) -> Answer {
        try await administer(context, ifUnused: unused) { store in
            let owner = try await store.engine.read { reader in
                try place.account.map { try Self.account(named: $0, reader) }
            }
            let caller = store.caller(viewing: owner, context)
            return try await store.read(by: caller) { reader in
                guard let zone = try reader.zone(owner: owner?.owner ?? .everyone, named: place.zoneName) else {
                    throw ServiceError.zoneNotFound(place.zoneName)
                }
                return try body(store, caller, zone, reader)
            }
        }
    }
}

extension ReferenceRow.Kind {
    /// The name of the kind in an administrator's view.
    fileprivate var name: String {
        switch self {
        case .parent: "PARENT"
        case .share: "SHARE"
        case .deleteSelf: "DELETE_SELF"
        case .validate: "VALIDATE"
        }
    }
}

/// A page of a zone's records, the last changed first.
private struct RecordList {
    private let request: ListRecordsRequest
    private let limit: Int
    private let zone: ZoneRow
    private let reader: StorageReader
    private let strings: TokenCodec
    private let matcher: QueryMatcher?
    /// The order of the page, and what it has so far; nil for the last changed first.
    private let order: QueryOrder?
    private var first: [(position: QueryPosition, row: RecordRow)] = []
    private let records: RecordEncoder
    private let projection: RecordProjection
    private var response = ListRecordsResponse()
    private var count = 0
    private var size = 0
    /// The sequence of the last record that was read.
    private var last = Int64.max

    init(
        _ request: ListRecordsRequest, limit: Int, zone: ZoneRow, caller: Caller, accounts: Accounts,
        _ reader: StorageReader
    ) {
        self.request = request
        self.limit = limit
        self.zone = zone
        self.reader = reader
        strings = TokenCodec(key: caller.key, database: "")
        order = request.sortBy.isEmpty ? nil : QueryOrder(request.sortBy)
        matcher = request.filterBy.isEmpty ? nil : QueryMatcher(request.filterBy)
        records = RecordEncoder(encoded: true, reserving: 1024 * limit, accounts, reader, caller)
        projection = RecordProjection(desiredKeys: nil, numbersAsStrings: false, assets: caller.assets)
    }

    mutating func run() throws -> ListRecordsResponse {
        last = try start()
        while count < limit, response.scanned < Limits.browsedRecords, size < Limits.lookupSize {
            let scanned = response.scanned
            try reader.visitRecords(
                zone: zone.key, before: last, limit: min(Limits.recordsPerList, Limits.browsedRecords - scanned),
                size: Limits.lookupSize - size
            ) { record in
                if count < limit { try visit(record) }
            }
            if response.scanned == scanned { break }
        }
        if order != nil { try addFirst() }
        response.encodedRecords = try records.finish().encoded
        var hasMore = false
        try reader.visitRecords(zone: zone.key, before: last, limit: 1, size: .max) { _ in hasMore = true }
        if hasMore { response.continuationMarker = strings.text(marker(last), for: .recordList) }
        return response
    }

    private mutating func visit(_ record: RecordRowView) throws {
        response.scanned += 1
        size += record.fields.count
        last = record.sequence
        guard !record.isDeleted || record.isDamaged else { return }
        if let type = request.recordType, String(decoding: record.type, as: UTF8.self) != type { return }
        if let matcher, record.isDamaged || !matcher.matches(QueryableRow(record.row)) { return }
        if let order { return insert(record.row, order) }
        try records.add(record, projection)
        count += 1
    }

    /// Keeps a row while it is among the first ones.
    private mutating func insert(_ row: RecordRow, _ order: QueryOrder) {
        let key = order.key(of: QueryableRow(row))
        first.append((QueryPosition(key: key, name: row.name, zone: row.zone.id), row))
        if first.count >= 2 * limit { keepFirst() }
    }

    private mutating func keepFirst() {
        first.sort { $0.position.precedes($1.position) }
        first.removeLast(max(0, first.count - limit))
    }

    private mutating func addFirst() throws {
        keepFirst()
        for (_, row) in first { try records.add(row, projection) }
    }

    // MARK: The marker

    private func marker(_ sequence: Int64) -> [UInt8] {
        Array("\(zone.key.owner.rawValue) \(zone.key.id) \(sequence)".utf8)
    }

    /// The sequence before which the page starts.
    private func start() throws -> Int64 {
        guard let text = request.continuationMarker else { return .max }
        let content = strings.content(of: text, for: .recordList).map { String(decoding: $0, as: UTF8.self) }
        guard let content, let sequence = content.split(separator: " ").last.flatMap({ Int64($0) }),
            content.utf8.elementsEqual(marker(sequence))
        else { throw ServiceError.invalid("the continuationMarker is not one that this list gave") }
        return sequence
    }
}
