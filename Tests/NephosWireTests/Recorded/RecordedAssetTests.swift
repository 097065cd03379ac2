import NephosWire
import Testing

/// The bytes and decoding errors of messages about files of assets.
struct RecordedAssetTests {
    private var assetFields: [AssetField] {
        [
            AssetField(recordName: "A", recordType: "Artwork", fieldName: "image", isSealed: true),
            AssetField(recordName: nil, fieldName: "sound"),
        ]
    }

    @Test func `a request to upload files keeps its bytes and errors`() throws {
        try expectRecorded(
            small: AssetUploadRequest(tokens: []), #"{"tokens":[]}"#,
            full: AssetUploadRequest(zoneID: Samples.zoneID, tokens: assetFields),
            #"""
            {"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"tokens":[{"recordName":"A",\#
            "recordType":"Artwork","fieldName":"image","nephosSealed":true},{"fieldName":"sound"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at tokens: expected an array of asset fields, found nothing
                zoneID 5: expected a zone ID, found the number 5
                zoneID.zoneName, tokens[0].fieldName missing or null: expected a string, found nothing
                zoneID.zoneName, zoneID.ownerRecordName {}: expected a string, found an object
                tokens[0].recordName, tokens[0].recordType {}: expected a string, found an object
                tokens[0].fieldName {}: expected a string, found an object
                tokens missing or null: expected an array of asset fields, found nothing
                tokens 5: expected an array of asset fields, found the number 5
                tokens[0] null: expected an asset field, found null
                tokens[0] 5: expected an asset field, found the number 5
                tokens[0].nephosSealed {}: expected true or false, found an object
                """#)
    }

    @Test func `the addresses of uploads keep their bytes and errors`() throws {
        let token = AssetUploadResponse.Token(recordName: "A", fieldName: "image", url: "https://example.com/u")
        try expectRecorded(
            small: AssetUploadResponse(tokens: []), #"{"tokens":[]}"#,
            full: AssetUploadResponse(tokens: [.token(token), .failure(Samples.failure)]),
            #"""
            {"tokens":[{"recordName":"A","fieldName":"image","url":"https://example.com/u"},\#
            {"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at tokens: expected an array, found nothing
                tokens missing or null: expected an array, found nothing
                tokens 5: expected an array of upload tokens, found the number 5
                tokens[0] null: expected an upload token, found null
                tokens[0] 5: expected an upload token, found the number 5
                tokens[0].recordName, tokens[0].fieldName missing or null: expected a string, found nothing
                tokens[0].url missing or null: expected a string, found nothing
                tokens[0].recordName, tokens[0].fieldName, tokens[0].url {}: expected a string, found an object
                """#)
    }

    @Test func `the answer to an upload keeps its bytes and errors`() throws {
        try expectRecorded(
            small: UploadedFile(singleFile: AssetValue(fileChecksum: "sum", size: 5)),
            #"{"singleFile":{"fileChecksum":"sum","size":5}}"#,
            full: UploadedFile(singleFile: Samples.asset),
            #"""
            {"singleFile":{"fileChecksum":"sum","size":5,"receipt":"receipt","wrappingKey":"key",\#
            "referenceChecksum":"reference","downloadURL":"https://example.com/f","nephosContent":"content",\#
            "nephosSeal":"AQI="}}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at singleFile: expected an asset, found nothing
                singleFile missing or null: expected an asset, found nothing
                singleFile 5: expected an asset, found the number 5
                singleFile.fileChecksum missing or null: expected a string, found nothing
                singleFile.fileChecksum, singleFile.receipt {}: expected a string, found an object
                singleFile.wrappingKey, singleFile.referenceChecksum {}: expected a string, found an object
                singleFile.downloadURL, singleFile.nephosContent {}: expected a string, found an object
                singleFile.size missing or null: expected an integer, found nothing
                singleFile.size {}: expected an integer, found an object
                singleFile.nephosSeal {}: expected a base64 string, found an object
                singleFile.nephosSeal "?": expected a base64 string, found the string "?"
                """#)
    }

    @Test func `a request to reuse files keeps its bytes and errors`() throws {
        try expectRecorded(
            small: RereferenceRequest(assets: []), #"{"assets":[]}"#,
            full: RereferenceRequest(
                zoneID: Samples.zoneID, targetZoneID: ZoneIDDictionary(zoneName: "Target"), assets: assetFields),
            #"""
            {"zoneID":{"zoneName":"Gallery","ownerRecordName":"_owner"},"targetZoneID":{"zoneName":"Target"},\#
            "assets":[{"recordName":"A","recordType":"Artwork","fieldName":"image","nephosSealed":true},\#
            {"fieldName":"sound"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at assets: expected an array of asset fields, found nothing
                zoneID, targetZoneID 5: expected a zone ID, found the number 5
                zoneID.zoneName, targetZoneID.zoneName missing or null: expected a string, found nothing
                assets[0].fieldName missing or null: expected a string, found nothing
                zoneID.zoneName, zoneID.ownerRecordName {}: expected a string, found an object
                targetZoneID.zoneName, assets[0].recordName {}: expected a string, found an object
                assets[0].recordType, assets[0].fieldName {}: expected a string, found an object
                assets missing or null: expected an array of asset fields, found nothing
                assets 5: expected an array of asset fields, found the number 5
                assets[0] null: expected an asset field, found null
                assets[0] 5: expected an asset field, found the number 5
                assets[0].nephosSealed {}: expected true or false, found an object
                """#)
    }

    @Test func `reused files keep their bytes and errors`() throws {
        try expectRecorded(
            small: RereferenceResponse(assets: []), #"{"assets":[]}"#,
            full: RereferenceResponse(assets: [.asset(Samples.asset), .failure(Samples.failure)]),
            #"""
            {"assets":[{"fileChecksum":"sum","size":5,"receipt":"receipt","wrappingKey":"key",\#
            "referenceChecksum":"reference","downloadURL":"https://example.com/f","nephosContent":"content",\#
            "nephosSeal":"AQI="},{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"no such item"}]}
            """#,
            malformed: #"""
                []: expected an object, found an array
                {}: at assets: expected an array, found nothing
                assets missing or null: expected an array, found nothing
                assets 5: expected an array of assets, found the number 5
                assets[0] null: expected an asset, found null
                assets[0] 5: expected an asset, found the number 5
                assets[0].fileChecksum missing or null: expected a string, found nothing
                assets[0].fileChecksum, assets[0].receipt {}: expected a string, found an object
                assets[0].wrappingKey, assets[0].referenceChecksum {}: expected a string, found an object
                assets[0].downloadURL, assets[0].nephosContent {}: expected a string, found an object
                assets[0].size missing or null: expected an integer, found nothing
                assets[0].size {}: expected an integer, found an object
                assets[0].nephosSeal {}: expected a base64 string, found an object
                assets[0].nephosSeal "?": expected a base64 string, found the string "?"
                """#)
    }
}
