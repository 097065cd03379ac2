public import Foundation

extension CKOperation {
    /// The configuration of an operation (CKOperation.Configuration, Apple's documentation).
    ///
    /// A value that is set here overrides the default configuration of the operation's group, even if it equals the
    /// default. A value that is not set comes from the group or, if the group does not set it either, is the default.
    open class Configuration: NSObject, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: the lock of `values` guards all state.
        private let values: Locked<ConfigurationValues>

        public required override init() { values = Locked(ConfigurationValues()) }

        init(_ values: ConfigurationValues) { self.values = Locked(values) }

        /// The container of the operation; nil for `CKContainer.default()`.
        open var container: CKContainer? {
            get { values.container ?? nil }
            set { values.container = .some(newValue) }
        }

        /// The quality of service of the operation; `.default` unless it is set.
        open var qualityOfService: QualityOfService {
            get { values.qualityOfService ?? .default }
            set { values.qualityOfService = newValue }
        }

        /// Whether the operation may use a cellular network; true unless it is set. It exists for source compatibility,
        /// and this platform does not distinguish cellular networks.
        open var allowsCellularAccess: Bool {
            get { values.allowsCellularAccess ?? true }
            set { values.allowsCellularAccess = newValue }
        }

        /// Whether the operation is long-lived; false unless it is set. It exists for source compatibility, and
        /// operations do not outlive the process here.
        open var isLongLived: Bool {
            get { values.isLongLived ?? false }
            set { values.isLongLived = newValue }
        }

        /// The idle time-out of a request in seconds: the maximum time without any data from the service; 60 unless it
        /// is set.
        open var timeoutIntervalForRequest: TimeInterval {
            get { values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout }
            set { values.timeoutIntervalForRequest = newValue }
        }

        /// The maximum time in seconds for a whole request. Unless it is set, it is seven days, or unlimited for
        /// user-initiated operations.
        open var timeoutIntervalForResource: TimeInterval {
            get { values.timeoutIntervalForResource ?? ConfigurationValues.defaultResourceTimeout }
            set { values.timeoutIntervalForResource = newValue }
        }

        /// The values set so far.
        var snapshot: ConfigurationValues { values.withLock { $0 } }

        /// Returns a configuration with the same values set.
        func copied() -> Configuration { Configuration(snapshot) }
    }
}

/// The values of a configuration; nil for a value that is not set.
struct ConfigurationValues: Sendable {
    /// The default idle time-out of a request in seconds (CKOperation.Configuration, Apple's documentation).
    static let defaultRequestTimeout: TimeInterval = 60
    /// The default maximum time for a whole request in seconds: seven days (CKOperation.Configuration, Apple's
    /// documentation).
    static let defaultResourceTimeout: TimeInterval = 604_800

    // The container. The outer nil means that it is not set, and the inner nil is a value that an app can set.
    var container: CKContainer??
    var qualityOfService: QualityOfService?
    var allowsCellularAccess: Bool?
    var isLongLived: Bool?
    var timeoutIntervalForRequest: TimeInterval?
    var timeoutIntervalForResource: TimeInterval?

    /// Returns these values. Values that are not set come from `fallback`.
    func merged(over fallback: ConfigurationValues?) -> ConfigurationValues {
        guard let fallback else { return self }
        var merged = self
        merged.container = container ?? fallback.container
        merged.qualityOfService = qualityOfService ?? fallback.qualityOfService
        merged.allowsCellularAccess = allowsCellularAccess ?? fallback.allowsCellularAccess
        merged.isLongLived = isLongLived ?? fallback.isLongLived
        merged.timeoutIntervalForRequest = timeoutIntervalForRequest ?? fallback.timeoutIntervalForRequest
        merged.timeoutIntervalForResource = timeoutIntervalForResource ?? fallback.timeoutIntervalForResource
        return merged
    }

    /// The maximum time in seconds for a whole request; nil for no limit, as for user-initiated operations.
    var resourceTimeout: TimeInterval? {
        if let timeoutIntervalForResource { return timeoutIntervalForResource }
        switch qualityOfService ?? .default {
        case .userInteractive, .userInitiated: return nil
        default: return Self.defaultResourceTimeout
        }
    }
}
