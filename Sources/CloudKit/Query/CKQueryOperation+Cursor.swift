public import Foundation
import NephosWire

extension CKQueryOperation {
    /// Where a query's results go on. It says nothing to apps; keep it only for as long as its results are of use.
    open class Cursor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: everything in here is a constant.

        private let content: Content

        private enum Content: Hashable {
            /// The request for the page that follows, without what each operation says for itself.
            case page(QueryRecordsRequest)
            /// What an archive has that was not made here.
            case foreign(Data, CKRecordZone.ID?)
        }

        /// The request for the page that follows; nil where the cursor is not of this service.
        var page: QueryRecordsRequest? {
            guard case .page(let page) = content else { return nil }
            return page
        }

        init(_ page: QueryRecordsRequest, continuationMarker: String) {
            var page = page
            page.continuationMarker = continuationMarker
            page.resultsLimit = nil
            page.desiredKeys = nil
            content = .page(page)
        }

        open class var supportsSecureCoding: Bool { true }

        private enum Key {
            static let data = "CursorData"
        }

        // What is no cursor of ours makes one that no query goes on from: Apple's framework opens any archive of its
        // own, and apps' tests keep one, as there is no other way to make a cursor.
        public required init?(coder: NSCoder) {
            let data = coder.object(of: NSData.self, forKey: Key.data).map { Data(referencing: $0) } ?? Data()
            if let page = try? QueryRecordsRequest(decoding: [UInt8](data)), page.continuationMarker != nil {
                content = .page(page)
            } else {
                content = .foreign(data, coder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID))
            }
        }

        open func encode(with coder: NSCoder) {
            switch content {
            case .page(let page):
                coder.encode(NSData(data: Data(page.encoded())), forKey: Key.data)
                coder.encode(page.zoneID.map { CKRecordZone.ID(wire: $0) }, forKey: ArchiveKey.zoneID)
            case .foreign(let data, let zoneID):
                coder.encode(NSData(data: data), forKey: Key.data)
                coder.encode(zoneID, forKey: ArchiveKey.zoneID)
            }
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.queryCursor.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKQueryOperation.Cursor else { return false }
            return self === other || content == other.content
        }

        open override var hash: Int { content.hashValue }

        open override var description: String {
            let about =
                switch content {
                case .page(let page): "recordType=\(page.query.recordType)"
                case .foreign(_, let zoneID): "zoneName=\(zoneID?.zoneName ?? "nil")"
                }
            return "<CKQueryCursor: \(address(of: self)); \(about)>"
        }

        open override var debugDescription: String { description }
    }
}

/// The old name of `CKQueryOperation.Cursor`.
@available(*, deprecated, renamed: "CKQueryOperation.Cursor")
public typealias CKQueryCursor = CKQueryOperation.Cursor

/// The old name of `CKQueryOperation.maximumResults`.
// swift-format-ignore: AlwaysUseLowerCamelCase
@available(*, deprecated, renamed: "CKQueryOperation.maximumResults")
public let CKQueryOperationMaximumResults = 0
