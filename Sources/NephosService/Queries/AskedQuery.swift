package import NephosWire
import Synchronization

/// A query as it was asked, decoded once for all who send the same.
package final class AskedQuery: Sendable {
    package let request: QueryRecordsRequest
    /// The query and where it looks, on the wire: everything but the page.
    let text: [UInt8]
    /// The beginning of a hash, over the text.
    let textHash: FNV

    package init(_ request: QueryRecordsRequest) {
        self.request = request
        var query = QueryRecordsRequest(query: request.query, zoneID: request.zoneID, zoneWide: request.zoneWide)
        query.wantsCount = request.wantsCount
        text = query.encoded()
        textHash = text.withUnsafeBytes { FNV(of: $0) }
    }

    func isSame(as other: AskedQuery) -> Bool { self === other || text == other.text }
}

/// Keeps queries for those who send the same bytes again, as the screens of an app do: to decode a short query and to tell
/// it from others takes as long as to find ten records.
///
/// Each has its place by a hash of its bytes, and takes it from the one before. Pages after the first, which nobody asks
/// for again, are not kept.
final class AskedQueries: Sendable {
    private struct Entry: Sendable {
        let body: [UInt8]
        let asked: AskedQuery
    }

    private static let count = 512
    /// Bytes of a body that is kept: all take no more than a few megabytes.
    private static let longest = 2048

    private let entries = Mutex([Entry?](repeating: nil, count: count))

    func query(decoding body: [UInt8]) throws(WireError) -> AskedQuery {
        guard body.count <= Self.longest else { return AskedQuery(try QueryRecordsRequest(decoding: body)) }
        let place = Self.place(of: body)
        if let entry = entries.withLock({ $0[place] }), entry.body == body { return entry.asked }
        let asked = AskedQuery(try QueryRecordsRequest(decoding: body))
        if asked.request.continuationMarker == nil {
            let entry = Entry(body: body, asked: asked)
            // What had the place is freed without the lock.
            _ = entries.withLock { entries in
                let old = entries[place]
                entries[place] = entry
                return old
            }
        }
        return asked
    }

    /// Multiplies and folds eight bytes at a time.
    private static func place(of body: [UInt8]) -> Int {
        let hash = body.withUnsafeBytes { bytes in
            var hash = UInt64(bytes.count)
            var offset = 0
            func add(_ word: UInt64) {
                let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
                hash = product.high ^ product.low
            }
            while offset + 8 <= bytes.count {
                add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            var last: UInt64 = 0
            while offset < bytes.count {
                last = last << 8 | UInt64(bytes[offset])
                offset += 1
            }
            add(last)
            return hash
        }
        return Int(hash % UInt64(count))
    }
}
