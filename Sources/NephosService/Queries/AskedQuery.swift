import NephosCrypto
package import NephosWire

/// A query as it was asked, decoded once for all who send the same.
package final class AskedQuery: Sendable {
    package let request: QueryRecordsRequest
    /// The query and where it looks, on the wire: everything but the page.
    let text: [UInt8]
    /// The beginning of a hash, over the text.
    let textHash: FNV1a

    package init(_ request: QueryRecordsRequest) {
        self.request = request
        var query = QueryRecordsRequest(query: request.query, zoneID: request.zoneID, zoneWide: request.zoneWide)
        query.wantsCount = request.wantsCount
        text = query.encoded()
        textHash = FNV1a(text)
    }

    func isSame(as other: AskedQuery) -> Bool { self === other || text == other.text }
}

/// Keeps queries for those who send the same bytes again, as the screens of an app do: to decode a short query and to tell
/// it from others takes as long as to find ten records. Pages after the first, which nobody asks for again, are not kept.
final class AskedQueries: Sendable {
    private final class Entry: Sendable {
        let body: [UInt8]
        let asked: AskedQuery

        init(body: [UInt8], asked: AskedQuery) {
            self.body = body
            self.asked = asked
        }
    }

    private let kept = KeptQueries<Entry>()

    func query(decoding body: [UInt8]) throws(WireError) -> AskedQuery {
        let hash = Self.hash(body)
        if let entry = kept.first(at: hash, where: { $0.body == body }) { return entry.asked }
        let asked = AskedQuery(try QueryRecordsRequest(decoding: body))
        if KeptQueries<Entry>.isShort(body), asked.request.continuationMarker == nil {
            kept.keep(Entry(body: body, asked: asked), at: hash)
        }
        return asked
    }

    /// Multiplies and folds eight bytes at a time, of as many as a body that is kept may have.
    private static func hash(_ body: [UInt8]) -> UInt64 {
        body.withUnsafeBytes { bytes in
            let count = min(bytes.count, KeptQueries<Entry>.longest)
            var hash = UInt64(count)
            func add(_ word: UInt64) {
                let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
                hash = product.high ^ product.low
            }
            var offset = 0
            while offset + 8 <= count {
                add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            var last: UInt64 = 0
            while offset < count {
                last = last << 8 | UInt64(bytes[offset])
                offset += 1
            }
            add(last)
            return hash
        }
    }
}
