public import Foundation
import NephosWire

extension CKQueryOperation {
    /// A position from which the results of a query continue. Its content is opaque. Apps keep it only as long as the
    /// results are useful.
    open class Cursor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: all members are constants.

        private let content: Content

        private enum Content: Hashable {
            /// The request for the next page, without the values that each operation sets itself.
            case page(QueryRecordsRequest)
            /// The content of an archive that this library did not write.
            case foreign(Data, CKRecordZone.ID?)
        }

        /// The request for the next page; nil for a cursor that this library did not create.
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

        // A foreign archive decodes to a cursor from which no query continues. Apple's framework decodes any archive of
        // its own. The tests of apps keep such archives, because there is no other way to create a cursor.
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

/// The former name of `CKQueryOperation.Cursor`.
@available(*, deprecated, renamed: "CKQueryOperation.Cursor")
public typealias CKQueryCursor = CKQueryOperation.Cursor

/// The former name of `CKQueryOperation.maximumResults`.
// swift-format-ignore: AlwaysUseLowerCamelCase
@available(*, deprecated, renamed: "CKQueryOperation.maximumResults")
public let CKQueryOperationMaximumResults = 0
