public import Foundation

/// Operations that belong together for the user: a name, a default configuration and hints for the transfer
/// (CKOperationGroup, Apple's documentation). A group makes nothing atomic.
open class CKOperationGroup: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: what changes is behind the lock of `state`.

    /// How much data the operations of a group are expected to move.
    public enum TransferSize: Int, Hashable, Sendable, BitwiseCopyable {
        /// Nothing is said of the amount.
        case unknown = 0
        /// Below 1 MB.
        case kilobytes = 1
        /// From 1 to 10 MB.
        case megabytes = 2
        /// From 10 to 100 MB.
        case tensOfMegabytes = 3
        /// From 100 MB to 1 GB.
        case hundredsOfMegabytes = 4
        /// From 1 to 10 GB.
        case gigabytes = 5
        /// From 10 to 100 GB.
        case tensOfGigabytes = 6
        /// 100 GB and more.
        case hundredsOfGigabytes = 7
    }

    private struct State {
        var defaultConfiguration = CKOperation.Configuration()
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
    }

    private let state = Locked(State())

    /// What the system made up to tell the group from others.
    open var operationGroupID: String { identifier }
    private let identifier: String

    public override init() {
        identifier = Self.makeID()
    }

    /// What the operations of the group take where their own configuration says nothing; setting nil resets it.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var defaultConfiguration: CKOperation.Configuration! {
        get { state.defaultConfiguration }
        set { state.defaultConfiguration = newValue?.copied() ?? CKOperation.Configuration() }
    }

    /// What the app calls the group.
    open var name: String? {
        get { state.name }
        set { state.name = newValue }
    }

    /// A number of the app's own, such as how many items it means to send.
    open var quantity: Int {
        get { state.quantity }
        set { state.quantity = newValue }
    }

    /// How much the app expects to send.
    open var expectedSendSize: TransferSize {
        get { state.expectedSendSize }
        set { state.expectedSendSize = newValue }
    }

    /// How much the app expects to receive.
    open var expectedReceiveSize: TransferSize {
        get { state.expectedReceiveSize }
        set { state.expectedReceiveSize = newValue }
    }

    private static func makeID() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
    }

    // MARK: NSSecureCoding

    private enum Key {
        static let identifier = "operationGroupID"
        static let name = "name"
        static let quantity = "quantity"
        static let sendSize = "expectedSendSize"
        static let receiveSize = "expectedReceiveSize"
        static let configuration = "defaultConfiguration"
        static let qualityOfService = configuration + ".qualityOfService"
        static let allowsCellularAccess = configuration + ".allowsCellularAccess"
        static let isLongLived = configuration + ".longLived"
        static let requestTimeout = configuration + ".timeoutIntervalForRequest"
        static let resourceTimeout = configuration + ".timeoutIntervalForResource"
    }

    open class var supportsSecureCoding: Bool { true }

    /// Reads a group that `encode(with:)` wrote. The container of its default configuration is not in an archive.
    public required init(coder aDecoder: NSCoder) {
        let archived = aDecoder.decodeObject(of: NSString.self, forKey: Key.identifier) as String?
        identifier = archived ?? Self.makeID()
        super.init()
        var values = ConfigurationValues()
        if aDecoder.containsValue(forKey: Key.qualityOfService) {
            values.qualityOfService = QualityOfService(rawValue: aDecoder.decodeInteger(forKey: Key.qualityOfService))
        }
        if aDecoder.containsValue(forKey: Key.allowsCellularAccess) {
            values.allowsCellularAccess = aDecoder.decodeBool(forKey: Key.allowsCellularAccess)
        }
        if aDecoder.containsValue(forKey: Key.isLongLived) {
            values.isLongLived = aDecoder.decodeBool(forKey: Key.isLongLived)
        }
        if aDecoder.containsValue(forKey: Key.requestTimeout) {
            values.timeoutIntervalForRequest = aDecoder.decodeDouble(forKey: Key.requestTimeout)
        }
        if aDecoder.containsValue(forKey: Key.resourceTimeout) {
            values.timeoutIntervalForResource = aDecoder.decodeDouble(forKey: Key.resourceTimeout)
        }
        let name = aDecoder.decodeObject(of: NSString.self, forKey: Key.name) as String?
        let quantity = aDecoder.decodeInteger(forKey: Key.quantity)
        let sendSize = TransferSize(rawValue: aDecoder.decodeInteger(forKey: Key.sendSize))
        let receiveSize = TransferSize(rawValue: aDecoder.decodeInteger(forKey: Key.receiveSize))
        state.withLock { state in
            state.defaultConfiguration = CKOperation.Configuration(values)
            state.name = name
            state.quantity = quantity
            state.expectedSendSize = sendSize ?? .unknown
            state.expectedReceiveSize = receiveSize ?? .unknown
        }
    }

    open func encode(with coder: NSCoder) {
        let state = state.withLock { $0 }
        coder.encode(operationGroupID as NSString, forKey: Key.identifier)
        if let name = state.name { coder.encode(name as NSString, forKey: Key.name) }
        coder.encode(state.quantity, forKey: Key.quantity)
        coder.encode(state.expectedSendSize.rawValue, forKey: Key.sendSize)
        coder.encode(state.expectedReceiveSize.rawValue, forKey: Key.receiveSize)
        let values = state.defaultConfiguration.snapshot
        if let value = values.qualityOfService { coder.encode(value.rawValue, forKey: Key.qualityOfService) }
        if let value = values.allowsCellularAccess { coder.encode(value, forKey: Key.allowsCellularAccess) }
        if let value = values.isLongLived { coder.encode(value, forKey: Key.isLongLived) }
        if let value = values.timeoutIntervalForRequest { coder.encode(value, forKey: Key.requestTimeout) }
        if let value = values.timeoutIntervalForResource { coder.encode(value, forKey: Key.resourceTimeout) }
    }
}

/// The old name of `CKOperationGroup.TransferSize`.
@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize
