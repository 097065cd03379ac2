import Foundation
import NephosServer

/// A request to the server of a fixture, with the answer of the build that made the fixture.
struct RecordedRequest: Codable {
    var method: String
    var path: String
    /// The account's token; nil for a request that needs none.
    var token: String?
    /// Whether the request came from the server's operating system user, through the Unix socket.
    var isLocal = false
    var body: String?
    /// Whether it writes: the change tags of its answer are new.
    var writes = false
    var status = 0
    /// The answer's text; of a JSON answer without its volatile values.
    var answer = ""

    /// The request as `host` gets it.
    func request(host: String) -> HTTPRequest {
        var request = HTTPRequest(
            method: method == "GET" ? .get : .post, target: path, host: isLocal ? "localhost" : host,
            body: Array((body ?? "").utf8),
            takesAdditions: true)
        request.authorization = token.map { "Bearer \($0)" }
        request.localUser = isLocal ? 0 : nil
        return request
    }

    /// Members whose values are new in each answer, or belong to an issuer of opaque strings that may change.
    private static let volatile: Set = [
        "downloadURL", "syncToken", "metaSyncToken", "continuationMarker", "uuid", "nephosFetchEnd",
    ]

    /// Replaces volatile values of an answer, and the server's address.
    func normalised(_ text: String, url: String) -> String {
        let text = text.replacingOccurrences(of: url, with: "http://server")
        guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)) else { return text }
        let data = try? JSONSerialization.data(withJSONObject: normalised(value), options: .sortedKeys)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private func normalised(_ value: Any) -> Any {
        if let list = value as? [Any] { return list.map(normalised) }
        guard let object = value as? [String: Any] else { return value }
        return Dictionary(
            uniqueKeysWithValues: object.map { key, value in
                let isVolatile = Self.volatile.contains(key) || writes && key == "recordChangeTag"
                return (key, isVolatile ? "…" : normalised(value))
            })
    }

    /// The first place where an answer lacks what the recorded one has, or differs from it; nil if there is none. An answer
    /// of a later build may have more members.
    func difference(from text: String, url: String) -> String? {
        let now = normalised(text, url: url)
        guard let recorded = try? JSONSerialization.jsonObject(with: Data(answer.utf8)),
            let current = try? JSONSerialization.jsonObject(with: Data(now.utf8))
        else { return now == answer ? nil : "\(now) instead of \(answer)" }
        return Self.difference(recorded, current, at: "answer")
    }

    static func difference(_ recorded: Any, _ current: Any?, at path: String) -> String? {
        if let members = recorded as? [String: Any], let now = current as? [String: Any] {
            return members.keys.sorted().lazy.compactMap { key in
                members[key].flatMap { difference($0, now[key], at: "\(path).\(key)") }
            }.first
        }
        if let elements = recorded as? [Any], let now = current as? [Any], elements.count == now.count {
            return elements.indices.lazy.compactMap { difference(elements[$0], now[$0], at: "\(path)[\($0)]") }.first
        }
        let isEqual = (recorded as? NSObject) == (current as? NSObject)
        return isEqual ? nil : "\(path): \(current ?? "nothing") instead of \(recorded)"
    }
}
