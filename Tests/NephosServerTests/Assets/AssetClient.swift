import Foundation
import Testing

/// A client of CloudKit Web Services that knows assets.
struct AssetClient {
    let port: UInt16
    /// Requests go to this account's private database.
    var account = "me"

    func request(
        _ method: String, _ address: String, _ headers: [String: String] = [:], body: String? = nil,
        rawBody: String? = nil
    ) async throws -> TestResponse {
        let path = address.replacingOccurrences(of: "http://127.0.0.1:\(port)", with: "")
        let connection = try TestConnection(port: port)
        var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        text += "\r\n" + (body ?? rawBody ?? "")
        try await connection.send(text)
        return try await connection.response(hasBody: method != "HEAD")
    }

    func get(_ address: String, _ headers: [String: String] = [:]) async throws -> TestResponse {
        try await request("GET", address, headers)
    }

    func post(_ action: String, _ body: String, account: String? = nil) async throws -> [String: Any] {
        let answer = try await request(
            "POST",
            "/database/1/iCloud.test/development/private/\(action)?ckWebAuthToken=dev:\(account ?? self.account)",
            body: body)
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    func uploadURL(record: String, field: String) async throws -> String {
        let answer = try await post(
            "assets/upload",
            #"{"tokens":[{"recordName":"\#(record)","recordType":"Note","fieldName":"\#(field)"}]}"#)
        let token = try #require((answer["tokens"] as? [[String: Any]])?.first)
        #expect(token["recordName"] as? String == record && token["fieldName"] as? String == field)
        return try #require(token["url"] as? String)
    }

    func upload(_ content: String, to url: String) async throws -> [String: Any] {
        let answer = try await request("POST", url, body: content)
        #expect(answer.status == 200, "\(answer.text)")
        let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return try #require(object?["singleFile"] as? [String: Any])
    }

    /// The answer's record, or its error.
    private func modify(
        _ record: String, field: String, _ value: [String: Any], account: String? = nil
    ) async throws -> [String: Any] {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
        let answer = try await post(
            "records/modify",
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"\#(record)","recordType":"Note","#
                + #""fields":{"\#(field)":{"value":\#(json)}}}}]}"#, account: account)
        return (answer["records"] as? [[String: Any]])?.first ?? answer
    }

    func save(_ record: String, field: String, _ value: [String: Any]) async throws -> [String: Any] {
        let saved = try await modify(record, field: field, value)
        let fields = try #require(saved["fields"] as? [String: Any], "\(saved)")
        return try #require((fields[field] as? [String: Any])?["value"] as? [String: Any])
    }

    func errorOfSaving(
        _ record: String, field: String, _ value: [String: Any], account: String? = nil
    ) async throws -> String? {
        try await modify(record, field: field, value, account: account)["serverErrorCode"] as? String
    }

    func lookup(_ record: String, field: String) async throws -> [String: Any] {
        let answer = try await post("records/lookup", #"{"records":[{"recordName":"\#(record)"}]}"#)
        let fields = (answer["records"] as? [[String: Any]])?.first?["fields"] as? [String: Any]
        return try #require((fields?[field] as? [String: Any])?["value"] as? [String: Any])
    }

    /// Saves a file, and returns the address of its download.
    func saved(_ content: String) async throws -> String {
        let file = try await upload(content, to: try await uploadURL(record: "saved", field: "file"))
        return try #require(try await save("saved", field: "file", file)["downloadURL"] as? String)
    }
}
