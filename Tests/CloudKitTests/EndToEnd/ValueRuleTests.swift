import CloudKit
import Testing

/// A value is saved as it is or refused with the reason; it never changes on the way.
@Suite struct ValueRuleTests {
    private func location(_ latitude: Double, _ longitude: Double, altitude: Double = 0, at date: Date = .now)
        -> CLLocation
    {
        CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: altitude,
            horizontalAccuracy: 1, verticalAccuracy: 1, timestamp: date)
    }

    private static let number = "expected a finite number, found"
    private static let never = Date(timeIntervalSinceReferenceDate: .nan)

    /// Values that nothing can keep, with what is said of each.
    private var refused: [(any CKRecordValueProtocol, String)] {
        [
            (Double.nan, "\(Self.number) nan"), (-Double.infinity, "\(Self.number) -inf"),
            ([1.0, .infinity], "\(Self.number) inf"), (Float.nan, "\(Self.number) nan"),
            (Self.never, "expected a date, found one nan seconds away"),
            (Date(timeIntervalSinceReferenceDate: .infinity), "expected a date, found one inf seconds away"),
            ([Date.now, Self.never], "expected a date, found one nan seconds away"),
            (UInt64.max, "expected a number up to 9223372036854775807, found 18446744073709551615"),
            ([UInt64(1), UInt64.max], "expected a number up to 9223372036854775807, found 18446744073709551615"),
            (
                [1, 2.5, Int64.max] as NSArray,
                "expected a number that a Double equals in a list with fractions, found 9223372036854775807"
            ),
            (location(.nan, 0), "expected finite numbers in a location, found nan"),
            (location(0, 0, altitude: .infinity), "expected finite numbers in a location, found inf"),
            (location(90.1, 0), "expected a latitude from -90 to 90, found 90.1"),
            (location(-91, 0), "expected a latitude from -90 to 90, found -91.0"),
            (location(0, 180.5), "expected a longitude from -180 to 180, found 180.5"),
            (location(0, 0, at: Self.never), "expected a date, found one nan seconds away"),
            ([location(1, 1), location(0, -181)], "expected a longitude from -180 to 180, found -181.0"),
        ]
    }

    @Test(arguments: Transport.allCases)
    func `an unstorable value is refused in the same words, and the stored value stays`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            for (index, (value, reason)) in refused.enumerated() {
                let record = note("n\(index)")
                record["text"] = "old"
                try await database.save(record)
                record["value"] = value
                record["text"] = "new"
                let failure = await expectFailure(.invalidArguments) { try await database.save(record) }
                #expect(failure?.localizedDescription.contains("record 'n\(index)': field 'value': \(reason)") == true)
                let stored = try await database.record(for: record.recordID)
                #expect(stored["text"] == "old" && stored["value"] == nil)
                #expect(Set(record.changedKeys()) == ["text", "value"])
            }
        }
    }

    @Test(arguments: Transport.allCases)
    func `the largest and the smallest values are stored`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("n")
            record["max"] = UInt64(Int64.max)
            record["min"] = Int64.min
            record["mixed"] = [1, 2.5, Int64(1) << 62] as NSArray
            record["large"] = Double.greatestFiniteMagnitude
            record["small"] = Double.leastNonzeroMagnitude
            record["pole"] = location(90, 180)
            record["other"] = location(-90, -180)
            record["future"] = Date.distantFuture
            try await database.save(record)
            let stored = try await database.record(for: record.recordID)
            #expect(stored["max"] == Int64.max && stored["min"] == Int64.min)
            #expect(stored["mixed"] as? [Double] == [1, 2.5, 0x1p62])
            #expect(
                stored["large"] == Double.greatestFiniteMagnitude && stored["small"] == Double.leastNonzeroMagnitude)
            #expect((stored["pole"] as? CLLocation)?.coordinate.longitude == 180)
            #expect((stored["other"] as? CLLocation)?.coordinate.latitude == -90)
            #expect(stored["future"] == Date.distantFuture)
        }
    }

    @Test(arguments: Transport.allCases)
    func `queries and subscriptions refuse unstorable values, too`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("n")
            record["place"] = location(10, 20)
            record["when"] = Date.now
            record["count"] = 1
            try await database.save(record)
            func query(_ format: String, _ values: Any...) -> CKQuery {
                CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argumentArray: values))
            }
            let near = "distanceToLocation:fromLocation:(place, %@) < %@"
            var refused = [
                query(near, location(91, 0), 100.0), query(near, location(.nan, 0), 100.0),
                query(near, location(0, 200), 100.0), query(near, location(0, 0), Double.nan),
                query("when < %@", Self.never), query("when IN %@", [Date.now, Self.never]),
                query("count < %@", UInt64.max), query("count == %@", Double.infinity),
            ]
            for center in [location(-90.5, 0), location(0, .infinity)] {
                let sorted = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                sorted.sortDescriptors = [CKLocationSortDescriptor(key: "place", relativeLocation: center)]
                refused.append(sorted)
            }
            for query in refused {
                await expectFailure(.invalidArguments) { _ = try await database.records(matching: query) }
                guard query.sortDescriptors == nil else { continue }
                await expectFailure(.invalidArguments) {
                    try await database.save(
                        CKQuerySubscription(
                            recordType: "Note", predicate: query.predicate, subscriptionID: UUID().uuidString,
                            options: .firesOnRecordCreation))
                }
            }
            #expect(try await database.records(matching: query(near, location(10, 20), 1.0)).matchResults.count == 1)
        }
    }
}

/// "The data that a record stores must not exceed 1 MB": the stored size counts, not the size on the wire.
@Suite struct DataSizeTests {
    @Test(arguments: Transport.allCases)
    func `a record within 1 MB is saved, however long its JSON is`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let numbers = note("numbers")
            numbers["list"] = (0..<120_000).map { Int64.min + $0 }
            let text = note("text")
            text["text"] = String(repeating: "\u{1}", count: 1_000_000)
            for record in [numbers, text] { try await database.save(record) }
            #expect(try await database.record(for: numbers.recordID)["list"] as? [Int64] == numbers["list"] as? [Int64])
            #expect(try await database.record(for: text.recordID)["text"] == text["text"] as? String)

            let places = note("places")
            places["places"] = (0..<10_000).map {
                CLLocation(latitude: Double($0) / 200 + 0.123_456_789, longitude: -Double($0) / 100 - 0.123_456_789)
            }
            try await database.save(places)
            #expect((try await database.record(for: places.recordID)["places"] as? [CLLocation])?.count == 10_000)

            let both = [note("one"), note("two")]
            for record in both { record["data"] = Data(repeating: 0xFF, count: 900_000) }
            try await database.saveAll(both)
            #expect(try await database.existing(both) == ["one", "two"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `an error over a limit names the actual size and the limit`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("large")
            record["data"] = Data(repeating: 1, count: 1_100_000)
            let failure = await expectFailure(.limitExceeded) { try await database.save(record) }
            let words =
                "record 'large' holds 1100004 bytes without its assets, 1100004 of them in field 'data'; at most 1048576"
                + " are allowed"
            #expect(failure?.localizedDescription.contains(words) == true)
            let records = (0..<3).map { note("n\($0)") }
            for record in records { record["data"] = Data(repeating: 1, count: 900_000) }
            let second = await expectFailure(.limitExceeded) { try await database.saveAll(records) }
            let others = "the request holds 2700012 bytes of records without assets; at most 2097152 are allowed"
            #expect(second?.localizedDescription.contains(others) == true)
            let existing = try await database.existing(records)
            #expect(existing == [])
        }
    }
}
