import NephosCrypto
import NephosStorage

/// The short GUIDs at the end of share URLs: a routing key of three base-62 digits, and 128 random bits in 22 digits.
/// Short GUIDs are secrets and must not be logged. The routing key identifies the store, which the URL does not name
/// otherwise; several stores may have the same routing key.
package enum ShortGUID {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    static func make(_ environment: ServiceEnvironment, in store: StoreID) -> String {
        var bits = environment.makeSecret().prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        var text = routingKey(store)
        for _ in 0..<22 {
            text.append(digits[Int(bits % 62)])
            bits /= 62
        }
        return text
    }

    static func routingKey(_ store: StoreID) -> String { routingKey(store.container, store.environment) }

    /// The routing key of a container and environment, with which their short GUIDs begin: a hash of the two names.
    package static func routingKey(_ container: String, _ environment: String) -> String {
        let hash = FNV1a("\(container)\u{0}\(environment)".utf8).value
        return String([0, 20, 40].map { digits[Int((hash >> $0) % 62)] })
    }
}
