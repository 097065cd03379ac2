public import Foundation
import NephosWire

extension CKQueryOperation {
    /// Where a query's results go on. It says nothing to apps; keep it only for as long as its results are of use.
    open class Cursor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: everything in here is a constant.

        /// The request for the page that follows, without what each operation says for itself.
        let page: QueryRecordsRequest

        init(_ page: QueryRecordsRequest, continuationMarker: String) {
            var page = page
            page.continuationMarker = continuationMarker
            page.resultsLimit = nil
            page.desiredKeys = nil
            self.page = page
        }

        open class var supportsSecureCoding: Bool { true }

        private enum Key {
            static let data = "CursorData"
        }

        public required init?(coder: NSCoder) {
            guard let data = coder.decodeObject(of: NSData.self, forKey: Key.data),
                let page = try? QueryRecordsRequest(decoding: [UInt8](Data(referencing: data))),
                page.continuationMarker != nil
            else { return nil }
            self.page = page
        }

        open func encode(with coder: NSCoder) {
            coder.encode(NSData(data: Data(page.encoded())), forKey: Key.data)
            coder.encode(page.zoneID.map { CKRecordZone.ID(wire: $0) }, forKey: ArchiveKey.zoneID)
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.queryCursor.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKQueryOperation.Cursor else { return false }
            return self === other || page == other.page
        }

        open override var hash: Int { page.hashValue }

        open override var description: String {
            "<CKQueryCursor: \(address(of: self)); recordType=\(page.query.recordType)>"
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
