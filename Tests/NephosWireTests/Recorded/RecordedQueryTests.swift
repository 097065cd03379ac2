import NephosWire
import Testing

/// The bytes and decoding errors of messages about queries.
struct RecordedQueryTests {
    @Test func `a query keeps its bytes and errors`() throws {
        try expectRecorded(
            small: QueryRecordsRequest(query: Query(recordType: "Artwork")), #"{"query":{"recordType":"Artwork"}}"#,
            full: QueryRecordsRequest(
                query: Samples.query, zoneID: Samples.zoneID, zoneWide: true, resultsLimit: 5,
                continuationMarker: "marker", desiredKeys: ["title"], numbersAsStrings: true, wantsCount: true,
                wantsExplanation: true),
            #"""
            {"query":{"recordType":"Artwork","filterBy":[{"comparator":"BEGINS_WITH","fieldName":"title",\#
            "fieldValue":{"value":"G","type":"STRING"}},{"comparator":"NEAR","fieldName":"place",\#
            "fieldValue":{"value":{"latitude":1.5,"longitude":2.0},"type":"LOCATION"},"distance":10.0},\#
            {"comparator":"GREATER_THAN","systemFieldName":"modifiedTimestamp","fieldValue":{"value":1000,\#
            "type":"TIMESTAMP"}},{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"blue",\#
            "type":"STRING"}}],"sortBy":[{"fieldName":"place","ascending":false,\#
            "relativeLocation":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"}},\#
            {"systemFieldName":"recordName","ascending":true}],\#
            "nephosFilter":{"or":[{"not":{"comparator":"IN","fieldName":"year","fieldValue":{"value":[1,2],\#
            "type":"INT64_LIST"}}},{"and":[{"all":true},{"none":true}]}]}},"zoneID":{"zoneName":"Gallery",\#
            "ownerRecordName":"_owner"},"resultsLimit":5,"continuationMarker":"marker",\#
            "desiredKeys":["title"],"zoneWide":true,"numbersAsStrings":true,"nephosCount":true,\#
            "nephosExplain":true}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at query: expected a query dictionary, found nothing
                query missing or null: expected a query dictionary, found nothing
                query 5: expected a query, found the number 5
                query.recordType, zoneID.zoneName missing or null: expected a string, found nothing
                query.recordType, query.filterBy[0].fieldName {}: expected a string, found an object
                query.sortBy[0].fieldName {}: expected a string, found an object
                query.nephosFilter.or[0].not.fieldName, zoneID.zoneName {}: expected a string, found an object
                zoneID.ownerRecordName, continuationMarker, desiredKeys[0] {}: expected a string, found an object
                query.filterBy 5: expected an array of filters, found the number 5
                query.filterBy[0] null: expected a filter, found null
                query.filterBy[0] 5: expected a filter, found the number 5
                query.filterBy[0].comparator missing or null: expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found nothing
                query.nephosFilter.or[0].not.comparator missing or null: expected one of EQUALS, NOT_EQUALS, \#
                LESS_THAN, LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, \#
                NOT_IN, CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found nothing
                query.filterBy[0].comparator {}: expected one of EQUALS, NOT_EQUALS, LESS_THAN, LESS_THAN_OR_EQUALS, \#
                GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, CONTAINS_ANY_TOKENS, \#
                LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, NOT_BEGINS_WITH, \#
                LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, NOT_LIST_CONTAINS_ALL, \#
                LIST_CONTAINS_ANY, found an object
                query.nephosFilter.or[0].not.comparator {}: expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found an object
                query.filterBy[0].comparator "?": expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found the string "?"
                query.nephosFilter.or[0].not.comparator "?": expected one of EQUALS, NOT_EQUALS, LESS_THAN, \#
                LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, NOT_IN, \#
                CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found the string "?"
                query.filterBy[0].fieldName missing or null: expected the name of a field (or systemFieldName), \#
                found nothing
                query.sortBy[0].fieldName missing or null: expected the name of a field (or systemFieldName), found \#
                nothing
                query.nephosFilter.or[0].not.fieldName missing or null: expected the name of a field (or \#
                systemFieldName), found nothing
                query.filterBy[0].fieldValue missing or null: expected a dictionary with the key "value", found \#
                nothing
                query.nephosFilter.or[0].not.fieldValue missing or null: expected a dictionary with the key "value", \#
                found nothing
                query.filterBy[0].fieldValue 5: expected a dictionary with the key "value", found the number 5
                query.nephosFilter.or[0].not.fieldValue 5: expected a dictionary with the key "value", found the \#
                number 5
                query.filterBy[0].fieldValue.value missing or null: expected a value to compare with, found nothing
                query.nephosFilter.or[0].not.fieldValue.value missing or null: expected a value to compare with, \#
                found nothing
                query.filterBy[0].fieldValue.value {}: declared STRING: expected a string, found an object
                query.filterBy[0].fieldValue.type {}: expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                query.sortBy[0].relativeLocation.type {}: expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                query.nephosFilter.or[0].not.fieldValue.type {}: expected a field type (STRING, INT64, DOUBLE, \#
                BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found an object
                query.filterBy[0].fieldValue.type "?": expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                query.sortBy[0].relativeLocation.type "?": expected a field type (STRING, INT64, DOUBLE, BYTES, \#
                TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                query.nephosFilter.or[0].not.fieldValue.type "?": expected a field type (STRING, INT64, DOUBLE, \#
                BYTES, TIMESTAMP, LOCATION, REFERENCE, ASSETID or one of them with _LIST), found the string "?"
                query.sortBy 5: expected an array of sort descriptors, found the number 5
                query.sortBy[0] null: expected a sort descriptor, found null
                query.sortBy[0] 5: expected a sort descriptor, found the number 5
                query.sortBy[0].ascending missing or null: reads as true
                query.sortBy[0].ascending, zoneWide, numbersAsStrings {}: expected true or false, found an object
                nephosCount, nephosExplain {}: expected true or false, found an object
                query.sortBy[0].relativeLocation 5: expected a location, found the number 5
                query.sortBy[0].relativeLocation.value missing: at query.sortBy[0].relativeLocation.latitude: \#
                expected a number, found nothing
                query.sortBy[0].relativeLocation.value null: at query.sortBy[0].relativeLocation: expected a \#
                location, found an object
                query.sortBy[0].relativeLocation.value 5: declared LOCATION: expected a location, found the number 5
                query.sortBy[0].relativeLocation.value.latitude missing: declared LOCATION: expected a number, found \#
                nothing
                query.sortBy[0].relativeLocation.value.longitude missing: declared LOCATION: expected a number, \#
                found nothing
                query.sortBy[0].relativeLocation.value.latitude null: declared LOCATION: expected a number, found null
                query.sortBy[0].relativeLocation.value.longitude null: declared LOCATION: expected a number, found \#
                null
                query.sortBy[0].relativeLocation.value.latitude {}: declared LOCATION: expected a number, found an \#
                object
                query.sortBy[0].relativeLocation.value.longitude {}: declared LOCATION: expected a number, found an \#
                object
                query.sortBy[0].relativeLocation.value.latitude -1: reads as -1.0
                query.sortBy[0].relativeLocation.value.longitude -1: reads as -1.0
                query.sortBy[0].relativeLocation.type missing or null: reads as "LOCATION"
                query.nephosFilter 5: expected a filter, or one of and, or, not, all and none, found the number 5
                query.nephosFilter.or[0] 5: expected a filter, or one of and, or, not, all and none, found the \#
                number 5
                query.nephosFilter.or[0].not 5: expected a filter, or one of and, or, not, all and none, found the \#
                number 5
                query.nephosFilter.or missing: at query.nephosFilter.comparator: expected one of EQUALS, NOT_EQUALS, \#
                LESS_THAN, LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, CONTAINS_ALL_TOKENS, IN, \#
                NOT_IN, CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, NOT_LIST_CONTAINS_ANY, BEGINS_WITH, \#
                NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, \#
                NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found nothing
                query.nephosFilter.or null: expected an array of conditions, found null
                query.nephosFilter.or 5: expected an array of conditions, found the number 5
                query.nephosFilter.or[0] null: expected a filter, or one of and, or, not, all and none, found null
                query.nephosFilter.or[0].not null: expected a filter, or one of and, or, not, all and none, found null
                query.nephosFilter.or[0].not missing: at query.nephosFilter.or[0].comparator: expected one of \#
                EQUALS, NOT_EQUALS, LESS_THAN, LESS_THAN_OR_EQUALS, GREATER_THAN, GREATER_THAN_OR_EQUALS, NEAR, \#
                CONTAINS_ALL_TOKENS, IN, NOT_IN, CONTAINS_ANY_TOKENS, LIST_CONTAINS, NOT_LIST_CONTAINS, \#
                NOT_LIST_CONTAINS_ANY, BEGINS_WITH, NOT_BEGINS_WITH, LIST_MEMBER_BEGINS_WITH, \#
                NOT_LIST_MEMBER_BEGINS_WITH, LIST_CONTAINS_ALL, NOT_LIST_CONTAINS_ALL, LIST_CONTAINS_ANY, found \#
                nothing
                query.nephosFilter.or[0].not.fieldValue.value 5: declared INT64_LIST: expected an array, found the \#
                number 5
                query.nephosFilter.or[0].not.fieldValue.value[0] null: declared INT64_LIST: expected an integer, \#
                found null
                query.nephosFilter.or[0].not.fieldValue.value[0] {}: declared INT64_LIST: expected an integer, found \#
                an object
                zoneID 5: expected a zone ID, found the number 5
                resultsLimit {}: expected a number of records, found an object
                resultsLimit -1: expected a number of records above 0, found the number -1
                desiredKeys 5: expected an array of strings, found the number 5
                desiredKeys[0] null: expected a string, found null
                """#)
    }

    @Test func `the answer of a query keeps its bytes and errors`() throws {
        var explanation = QueryExplanation(
            scans: [QueryExplanation.Scan(field: "title", index: "SORTABLE", range: "from \"G\"", entriesRead: 3)],
            checkedOnRecords: ["year > 1"], entriesRead: 3, recordsRead: 2, recordsReturned: 1)
        explanation.helpfulIndex = "year SORTABLE"
        var answer = QueryRecordsResponse(
            records: [.record(Samples.plainRecord)], continuationMarker: "marker", count: 7, explanation: explanation)
        let decoded = answer
        // The encoder writes it for other clients; the decoder ignores it.
        answer.syncToken = "token"
        try expectRecorded(
            small: QueryRecordsResponse(records: []), #"{"records":[]}"#, full: answer,
            #"""
            {"records":[{"recordName":"A","recordType":"Artwork","recordChangeTag":"1","fields":{},\#
            "pluginFields":{},"deleted":false}],"continuationMarker":"marker","syncToken":"token","count":7,\#
            "explain":{"scans":[{"field":"title","index":"SORTABLE","range":"from \"G\"","entriesRead":3}],\#
            "checkedOnRecords":["year > 1"],"entriesRead":3,"recordsRead":2,"recordsReturned":1,\#
            "helpfulIndex":"year SORTABLE"}}
            """#, decoded: decoded,
            malformed: #"""
                []: expected an object, found an array
                records, explain.scans, explain.checkedOnRecords missing or null: reads as []
                records 5: expected an array of records, found the number 5
                records[0] null: expected a record, found null
                records[0] 5: expected a record, found the number 5
                records[0].recordName, records[0].recordType missing or null: expected a string, found nothing
                records[0].recordChangeTag missing or null: expected a string, found nothing
                records[0].recordName, records[0].recordType {}: expected a string, found an object
                records[0].recordChangeTag, continuationMarker {}: expected a string, found an object
                explain.scans[0].field, explain.scans[0].index {}: expected a string, found an object
                explain.scans[0].range, explain.checkedOnRecords[0] {}: expected a string, found an object
                explain.helpfulIndex {}: expected a string, found an object
                records[0].fields missing or null: reads as {}
                records[0].fields 5: expected an object of fields, found the number 5
                records[0].pluginFields missing or null or 5: reads as {}
                records[0].deleted missing or null or {}: reads as false
                continuationMarker, count, explain, explain.helpfulIndex missing or null: reads as nothing
                syncToken {} or "?": reads as nothing
                count, explain.scans[0].entriesRead, explain.entriesRead {}: expected an integer, found an object
                explain.recordsRead, explain.recordsReturned {}: expected an integer, found an object
                explain 5: expected an explanation, found the number 5
                explain.scans 5: expected an array of scans, found the number 5
                explain.scans[0] null: expected a scan, found null
                explain.scans[0] 5: expected a scan, found the number 5
                explain.scans[0].field, explain.scans[0].index missing or null: reads as ""
                explain.scans[0].range missing or null: reads as ""
                explain.scans[0].entriesRead, explain.entriesRead, explain.recordsRead missing or null: reads as 0
                explain.recordsReturned missing or null: reads as 0
                explain.checkedOnRecords 5: expected an array of strings, found the number 5
                explain.checkedOnRecords[0] null: expected a string, found null
                """#)
    }
}
