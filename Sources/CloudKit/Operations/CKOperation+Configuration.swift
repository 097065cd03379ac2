public import Foundation

extension CKOperation {
    /// How an operation runs (CKOperation.Configuration, Apple's documentation).
    ///
    /// What is set here wins over the operation group's default configuration, even if it equals the default; what is
    /// not set is taken from there, and then from the defaults.
    open class Configuration: NSObject, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: all that is in here is behind the lock of `values`.
        private let values: Locked<ConfigurationValues>

        public required override init() { values = Locked(ConfigurationValues()) }

        init(_ values: ConfigurationValues) { self.values = Locked(values) }

        /// The container the operation runs in; nil means `CKContainer.default()`.
        open var container: CKContainer? {
            get { values.container ?? nil }
            set { values.container = .some(newValue) }
        }

        /// How urgent the operation is; `.default` unless set.
        open var qualityOfService: QualityOfService {
            get { values.qualityOfService ?? .default }
            set { values.qualityOfService = newValue }
        }

        /// Kept for source compatibility: this platform does not tell cellular networks apart. True unless set.
        open var allowsCellularAccess: Bool {
            get { values.allowsCellularAccess ?? true }
            set { values.allowsCellularAccess = newValue }
        }

        /// Kept for source compatibility: operations do not outlive the process here. False unless set.
        open var isLongLived: Bool {
            get { values.isLongLived ?? false }
            set { values.isLongLived = newValue }
        }

        /// How many seconds the service may stay silent; 60 unless set.
        open var timeoutIntervalForRequest: TimeInterval {
            get { values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout }
            set { values.timeoutIntervalForRequest = newValue }
        }

        /// How many seconds a request may take as a whole; seven days unless set, and no limit for operations a user
        /// waits for.
        open var timeoutIntervalForResource: TimeInterval {
            get { values.timeoutIntervalForResource ?? ConfigurationValues.defaultResourceTimeout }
            set { values.timeoutIntervalForResource = newValue }
        }

        /// What was set so far.
        var snapshot: ConfigurationValues { values.withLock { $0 } }

        /// A configuration with the same values set.
        func copied() -> Configuration { Configuration(snapshot) }
    }
}

/// The values of a configuration; nil is what was not set.
struct ConfigurationValues: Sendable {
    /// Seconds (CKOperation.Configuration, Apple's documentation).
    static let defaultRequestTimeout: TimeInterval = 60
    /// Seconds: seven days (CKOperation.Configuration, Apple's documentation).
    static let defaultResourceTimeout: TimeInterval = 604_800

    // Twice optional: nil can be set.
    var container: CKContainer??
    var qualityOfService: QualityOfService?
    var allowsCellularAccess: Bool?
    var isLongLived: Bool?
    var timeoutIntervalForRequest: TimeInterval?
    var timeoutIntervalForResource: TimeInterval?

    /// These values where they are set, those of `fallback` elsewhere.
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

    /// Seconds a request may take as a whole; nil is no limit, as for operations a user waits for.
    var resourceTimeout: TimeInterval? {
        if let timeoutIntervalForResource { return timeoutIntervalForResource }
        switch qualityOfService ?? .default {
        case .userInteractive, .userInitiated: return nil
        default: return Self.defaultResourceTimeout
        }
    }
}
