public import Foundation
import NephosWire

extension CKQueryOperation {
    /// Where a query's results go on. It says nothing to apps; keep it only for as long as its results are of use.
    public final class Cursor: NSObject, NSCopying, NSSecureCoding, Sendable {
        /// The request for the page that follows, without what each operation says for itself.
        let page: QueryRecordsRequest

        @available(*, unavailable, message: "cursors come from queries")
        public override init() {
            preconditionFailure("CKQueryOperation.Cursor has no init(): cursors come from queries.")
        }

        init(_ page: QueryRecordsRequest, continuationMarker: String) {
            var page = page
            page.continuationMarker = continuationMarker
            page.resultsLimit = nil
            page.desiredKeys = nil
            self.page = page
        }

        public static var supportsSecureCoding: Bool { true }

        private enum Key {
            static let data = "CursorData"
        }

        public init?(coder: NSCoder) {
            guard let data = coder.decodeObject(of: NSData.self, forKey: Key.data),
                let page = try? QueryRecordsRequest(decoding: [UInt8](Data(referencing: data))),
                page.continuationMarker != nil
            else { return nil }
            self.page = page
        }

        public func encode(with coder: NSCoder) {
            coder.encode(NSData(data: Data(page.encoded())), forKey: Key.data)
            coder.encode(page.zoneID.map { CKRecordZone.ID(wire: $0) }, forKey: ArchiveKey.zoneID)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.queryCursor.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKQueryOperation.Cursor else { return false }
            return self === other || page == other.page
        }

        public override var hash: Int { page.hashValue }

        public override var description: String {
            "<CKQueryCursor: \(address(of: self)); recordType=\(page.query.recordType)>"
        }

        public override var debugDescription: String { description }
    }
}

/// The old name of `CKQueryOperation.Cursor`.
@available(*, deprecated, renamed: "CKQueryOperation.Cursor")
public typealias CKQueryCursor = CKQueryOperation.Cursor

/// The old name of `CKQueryOperation.maximumResults`.
// swift-format-ignore: AlwaysUseLowerCamelCase
@available(*, deprecated, renamed: "CKQueryOperation.maximumResults")
public let CKQueryOperationMaximumResults = 0
