public import Foundation

extension CKFetchRecordZoneChangesOperation {
    /// The configuration of one zone's fetch: its start token, its limit and its keys.
    public class ZoneConfiguration: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the lock of `values` guards all mutable state.
        fileprivate let values: Locked<ZoneFetchValues>

        public override init() { values = Locked(ZoneFetchValues()) }

        required init(_ values: ZoneFetchValues) { self.values = Locked(values) }

        /// A configuration with the given values.
        public convenience init(
            previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
            desiredKeys: [CKRecord.FieldKey]? = nil
        ) {
            self.init(
                ZoneFetchValues(
                    previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit ?? 0,
                    desiredKeys: desiredKeys))
        }

        /// The token at which the last fetch of the zone ended; nil fetches from the beginning.
        public var previousServerChangeToken: CKServerChangeToken? {
            get { values.previousServerChangeToken }
            set { values.previousServerChangeToken = newValue }
        }

        /// The maximum number of changes per batch; 0 leaves the limit to the service.
        public var resultsLimit: Int {
            get { values.resultsLimit }
            set { values.resultsLimit = newValue }
        }

        /// The keys of the fields to fetch; nil for all fields, empty for none.
        public var desiredKeys: [CKRecord.FieldKey]? {
            get { values.desiredKeys }
            set { values.desiredKeys = newValue }
        }

        /// The current values of the configuration.
        var snapshot: ZoneFetchValues { values.withLock { $0 } }

        public func copy(with zone: NSZone? = nil) -> Any { type(of: self).init(snapshot) }

        public class var supportsSecureCoding: Bool { true }

        public required init?(coder: NSCoder) { values = Locked(ZoneFetchValues(coder: coder)) }

        public func encode(with coder: NSCoder) { snapshot.encode(with: coder) }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.zoneConfiguration.archiverClass }
    }

    /// The former name of a `ZoneConfiguration`.
    @available(*, deprecated, message: "use ZoneConfiguration")
    public class ZoneOptions: ZoneConfiguration, @unchecked Sendable {
        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.zoneOptions.archiverClass }
    }
}

/// The name of `ZoneOptions` before Swift nested it (CKFetchRecordZoneChangesOptions, Apple's headers up to iOS 12).
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneOptions")
public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesOperation.ZoneOptions

/// The values of a zone's configuration.
struct ZoneFetchValues: Sendable {
    var previousServerChangeToken: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
}

extension ZoneFetchValues {
    private enum Key {
        static let token = "previousServerChangeToken"
        static let limit = "resultsLimit"
        static let keys = "desiredKeys"
    }

    fileprivate init(coder: NSCoder) {
        previousServerChangeToken = coder.object(of: CKServerChangeToken.self, forKey: Key.token)
        resultsLimit = coder.decodeInteger(forKey: Key.limit)
        desiredKeys = coder.object(ofAny: [NSArray.self, NSString.self], forKey: Key.keys) as? [String]
    }

    fileprivate func encode(with coder: NSCoder) {
        if let previousServerChangeToken { coder.encode(previousServerChangeToken, forKey: Key.token) }
        coder.encode(resultsLimit, forKey: Key.limit)
        if let desiredKeys { coder.encode(NSArray(array: desiredKeys), forKey: Key.keys) }
    }
}
