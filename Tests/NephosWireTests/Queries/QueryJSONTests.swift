import NephosWire
import Testing

@Suite("records/query on the wire")
struct QueryJSONTests {
    private func decode(_ json: String) throws(WireError) -> QueryRecordsRequest {
        try QueryRecordsRequest(decoding: Array(json.utf8))
    }

    private func text(_ message: some WireMessage) -> String { String(decoding: message.encoded(), as: UTF8.self) }

    /// The path and the reason of what decoding throws.
    private func problem(_ json: String) -> String? {
        do throws(WireError) {
            _ = try decode(json)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `a request with filters, order and page is read`() throws {
        let request = try decode(
            """
            {"zoneID": {"zoneName": "Gallery"},
             "query": {"recordType": "Artwork",
               "filterBy": [
                 {"fieldName": "year", "comparator": "GREATER_THAN_OR_EQUALS",
                  "fieldValue": {"value": 1900, "type": "INT64"}},
                 {"systemFieldName": "createdTimestamp", "comparator": "LESS_THAN",
                  "fieldValue": {"value": 1767225600000, "type": "TIMESTAMP"}},
                 {"fieldName": "place", "comparator": "NEAR", "distance": 500,
                  "fieldValue": {"value": {"latitude": 1, "longitude": 2}, "type": "LOCATION"}},
                 {"comparator": "CONTAINS_ALL_TOKENS", "fieldValue": {"value": "red blue", "type": "STRING"}}],
               "sortBy": [{"fieldName": "year", "ascending": false}, {"systemFieldName": "modifiedTimestamp"}]},
             "resultsLimit": 2, "desiredKeys": ["title", "year"], "continuationMarker": "AQ==", "unknown": [1]}
            """)
        #expect(request.zoneID == ZoneIDDictionary(zoneName: "Gallery"))
        #expect(request.resultsLimit == 2)
        #expect(request.desiredKeys == ["title", "year"])
        #expect(request.continuationMarker == "AQ==")
        #expect(!request.zoneWide && !request.numbersAsStrings && !request.wantsCount && !request.wantsExplanation)
        #expect(request.query.recordType == "Artwork")
        #expect(
            request.query.filterBy == [
                Filter(.field("year"), .greaterThanOrEquals, .int64(1900)),
                Filter(.system(.createdTimestamp), .lessThan, .timestamp(1_767_225_600_000)),
                Filter(
                    .field("place"), .near, .location(LocationValue(latitude: 1, longitude: 2)), distance: 500),
                Filter(.allSearchableFields, .containsAllTokens, .string("red blue")),
            ])
        #expect(
            request.query.sortBy == [
                QuerySortDescriptor(.field("year"), ascending: false), QuerySortDescriptor(.system(.modifiedTimestamp)),
            ])
    }

    @Test func `a written query reads back the same`() throws {
        let location = LocationValue(latitude: 1.5, longitude: -2)
        let request = QueryRecordsRequest(
            query: Query(
                recordType: "T",
                filterBy: [
                    Filter(.field("a"), .in, .list(of: .string, [.string("x"), .string("\"y\"")])),
                    Filter(.field("l"), .near, .location(location), distance: 12.5),
                    Filter(
                        .system(.parent), .equals, .reference(ReferenceValue(recordName: "p", zoneID: .defaultZone))),
                    Filter(.allSearchableFields, .containsAnyTokens, .string("red")),
                    .matchesNothing,
                ],
                sortBy: [
                    QuerySortDescriptor(.field("l"), relativeLocation: location),
                    QuerySortDescriptor(.system(.recordName), ascending: false),
                ],
                extendedFilter: .or([
                    .not(.and([.filter(Filter(.field("a"), .lessThan, .double(0.5))), .all])), .none,
                ])),
            zoneID: ZoneIDDictionary(zoneName: "Z", ownerRecordName: "_o"), zoneWide: true, resultsLimit: 7,
            continuationMarker: "m", desiredKeys: [], numbersAsStrings: true, wantsCount: true, wantsExplanation: true)
        #expect(try QueryRecordsRequest(decoding: request.encoded()) == request)

        let response = QueryRecordsResponse(
            records: [.deleted(DeletedRecord(recordName: "r"))], continuationMarker: "m", count: 3,
            explanation: QueryExplanation(
                scans: [.init(field: "a", index: "QUERYABLE", range: "= 1", entriesRead: 2)],
                checkedOnRecords: ["b = 2"], entriesRead: 2, recordsRead: 1, recordsReturned: 1))
        #expect(try QueryRecordsResponse(decoding: response.encoded()) == response)
        #expect(text(QueryRecordsResponse(records: [])) == #"{"records":[]}"#)
    }

    @Test func `an ordinary query is sent without additions`() {
        let request = QueryRecordsRequest(query: Query(recordType: "T"))
        #expect(text(request) == #"{"query":{"recordType":"T"}}"#)
    }

    @Test func `system fields are known by their wire names and their schema names`() throws {
        for field in SystemField.allCases {
            for key in [
                #""systemFieldName":"\#(field.rawValue)""#, #""systemFieldName":"\#(field.schemaName)""#,
                #""fieldName":"\#(field.schemaName)""#,
            ] {
                let request = try decode(
                    #"{"query":{"recordType":"T","filterBy":[{\#(key),"comparator":"EQUALS","fieldValue":{"value":"x"}}]}}"#
                )
                #expect(request.query.filterBy.first?.key == .system(field))
            }
        }
        #expect(SystemField(schemaName: "___etag") == nil)
    }

    @Test func `a value without a type stays untyped`() throws {
        let request = try decode(
            #"{"query":{"recordType":"T","filterBy":{"fieldName":"a","comparator":"EQUALS","fieldValue":{"value":5}}}}"#
        )
        let filter = try #require(request.query.filterBy.first)
        #expect(filter.fieldValue == Field(.int64(5), hasDeclaredType: false))
        #expect(try QueryRecordsRequest(decoding: request.encoded()) == request)
    }

    @Test func `a relative location is a field dictionary or a bare location`() throws {
        for json in [#"{"latitude":1,"longitude":2}"#, #"{"value":{"latitude":1,"longitude":2},"type":"LOCATION"}"#] {
            let request = try decode(
                #"{"query":{"recordType":"T","sortBy":[{"fieldName":"l","relativeLocation":\#(json)}]}}"#)
            #expect(request.query.sortBy.first?.relativeLocation == LocationValue(latitude: 1, longitude: 2))
        }
    }

    @Test(
        arguments: [
            (#"{}"#, "query: expected a query dictionary"),
            (#"{"query":{}}"#, "query.recordType: expected a string"),
            (#"{"query":{"recordType":1}}"#, "query.recordType: expected a string"),
            (#"{"query":{"recordType":"T"},"resultsLimit":0}"#, "resultsLimit: expected a number of records above 0"),
            (#"{"query":{"recordType":"T","filterBy":[{}]}}"#, "query.filterBy[0].comparator: expected one of EQUALS"),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"LIKE"}]}}"#,
                "query.filterBy[0].comparator: expected one of EQUALS"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldValue":{"value":1}}]}}"#,
                "query.filterBy[0].fieldName: expected the name of a field"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a"}]}}"#,
                "query.filterBy[0].fieldValue: expected a dictionary"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":null}}]}}"#,
                "query.filterBy[0].fieldValue.value: expected a value to compare with"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"IN","fieldName":"a","fieldValue":{"value":1}}]}}"#,
                "query.filterBy[0].fieldValue: IN expects a list of values, found a value of type INT64"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":[1]}}]}}"#,
                "EQUALS expects a single value"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"BEGINS_WITH","fieldName":"a","fieldValue":{"value":1}}]}}"#,
                "BEGINS_WITH expects a string"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"NEAR","fieldName":"a","fieldValue":{"value":{"latitude":1,"longitude":1}}}]}}"#,
                "query.filterBy[0].distance: expected a number of metres"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","systemFieldName":"title","fieldValue":{"value":1}}]}}"#,
                "query.filterBy[0].systemFieldName: expected one of recordName"
            ),
            (
                #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"a","type":"NONSENSE"}}]}}"#,
                "query.filterBy[0].fieldValue.type: expected a field type"
            ),
            (#"{"query":{"recordType":"T","sortBy":[{}]}}"#, "query.sortBy[0].fieldName: expected the name of a field"),
            (
                #"{"query":{"recordType":"T","nephosFilter":{"or":{}}}}"#,
                "query.nephosFilter.or: expected an array of conditions"
            ),
        ])
    func `malformed queries are refused with their path and the expectation`(_ json: String, _ expected: String) {
        let found = problem(json)
        #expect(found?.contains(expected) == true, "\(found ?? "nothing") for \(json)")
    }

    @Test func `a condition that nests too deeply is refused`() {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"not":"#, count: depth) + #"{"all":true}"# + String(repeating: "}", count: depth)
        }
        let limit = QueryExpression.depthLimit
        #expect(problem(#"{"query":{"recordType":"T","nephosFilter":\#(nested(limit - 1))}}"#) == nil)
        #expect(problem(#"{"query":{"recordType":"T","nephosFilter":\#(nested(limit))}}"#)?.contains("levels") == true)
    }
}
