import NephosCrypto
import NephosStorage
import NephosWire

/// The failed sign-ins for a name, from an address, or of a device, which slow further guesses down.
///
/// An attempt counts as failed before its password is verified, and is taken back when the password is right: attempts
/// at the same time cannot exceed the allowance.
struct FailedSignIns: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.failedSignIns

    var count: Int
    /// The time of the last attempt, in milliseconds since 1970.
    var lastAt: Int64

    /// The time from which the next attempt is allowed: at once for the first `free`; then the wait doubles with each
    /// attempt, from a second to a quarter of an hour.
    func allowedAt(free: Int) -> Int64 {
        guard count >= free else { return lastAt }
        return lastAt + min(1000 << Int64(min(count - free, 20)), Self.longestWait)
    }

    /// Whether the clock was ahead at the last attempt: who signs in now would wait until it is that time again. Attempts
    /// under way at the same time differ by less.
    func wasAhead(at now: Int64) -> Bool { lastAt - now > Limits.clockDifference }

    /// The failures after another attempt at `now`. Each quarter of an hour without attempts takes one off the count.
    func adding(at now: Int64) -> FailedSignIns {
        let faded = max(0, count - Int(max(0, now - lastAt) / Self.longestWait))
        return FailedSignIns(count: faded + 1, lastAt: wasAhead(at: now) ? now : max(now, lastAt))
    }

    static let longestWait: Int64 = 15 * 60 * 1000
    static let lifetime: Int64 = 24 * 60 * 60 * 1000
    static let none = FailedSignIns(count: 0, lastAt: 0)
}

/// What is counted for an attempt: the network, and the name, or in its place the device that the account signed in from
/// before. So guesses of a name's password do not lock out such a device.
package struct SignInCounters {
    /// The allowances of a name or device, and of a network for names and for known devices.
    private static let (freeOfName, freeOfNetwork, freeOfNetworkForDevices) = (5, 30, 300)

    var names: [(name: String, free: Int)]

    /// - Parameter knownDevice: the account and the hash of a device's secret; nil for a new device.
    init(name: String, address: [UInt8], knownDevice: (account: String, hash: String)?) {
        // Hashes: people type passwords into the field of the name.
        if let knownDevice {
            names = [("device \(SecretToken.hash(of: "\(knownDevice.account) \(knownDevice.hash)"))", Self.freeOfName)]
        } else {
            names = [(Self.entry(ofName: name), Self.freeOfName)]
        }
        guard let network = Self.network(address) else { return }
        names.append(
            knownDevice == nil
                ? ("address \(network)", Self.freeOfNetwork)
                : ("address of devices \(network)", Self.freeOfNetworkForDevices))
    }

    private static func entry(ofName name: String) -> String { "name \(SecretToken.hash(of: name))" }

    /// Ends the count of a name, as its password is another now.
    static func forget(name: String, in transaction: StorageTransaction) throws {
        try transaction.removeInstallationEntry(FailedSignIns.kind, entry(ofName: name))
    }

    /// What is counted for a code that an account types: of its logins, whose codes others may have made.
    init(codesTypedBy account: String, address: [UInt8]) {
        names = [("codes \(account)", Self.freeOfName)]
        if let network = Self.network(address) { names.append(("address of codes \(network)", Self.freeOfNetwork)) }
    }

    /// Counts attempts with passkeys, whose account is known once they are verified: of the network alone, or of a device
    /// from which the passkey's account signed in before.
    init(passkeysFrom address: [UInt8], knownDevice: (account: String, hash: String)?) {
        self.init("passkeys", knownDevice.map { "\($0.account) \($0.hash)" }, address)
    }

    /// Counts sign-ins by providers: of the network alone, or of a device from which an account signed in by a provider
    /// before.
    /// - Parameter knownDevice: the hash of the device's secret.
    init(providersFrom address: [UInt8], knownDevice: String?) {
        self.init("providers", knownDevice, address)
    }

    /// Counts a device where one is known, so that others of its network do not use up its allowance; else the network.
    private init(_ kind: String, _ knownDevice: String?, _ address: [UInt8]) {
        let network = Self.network(address)
        guard let knownDevice else {
            names = network.map { [("address of \(kind) \($0)", Self.freeOfNetwork)] } ?? []
            return
        }
        names = [("device of \(kind) \(SecretToken.hash(of: knownDevice))", Self.freeOfName)]
        if let network {
            names.append(("address of devices of \(kind) \(network)", Self.freeOfNetworkForDevices))
        }
    }

    /// Counts the network alone, for attempts with links.
    /// - Parameter address: the network address of the caller; empty if unknown.
    init(linksFrom address: [UInt8]) {
        names = Self.network(address).map { [("address of links \($0)", Self.freeOfNetwork)] } ?? []
    }

    /// The network of an address that counts as one: the address in IPv4, the first 64 bits in IPv6. Nil if the address
    /// is unknown.
    package static func network(_ address: [UInt8]) -> String? {
        switch address.count {
        // The server gives the first 64 bits alone of an IPv6 address.
        case 4, 8: return Hexadecimal.text(address)
        // An IPv4 address in IPv6.
        case 16 where address.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]:
            return Hexadecimal.text(address.suffix(4))
        case 16: return Hexadecimal.text(address.prefix(8))
        default: return nil
        }
    }

    /// Counts an attempt.
    /// - Throws: `requestRateLimited` if the allowance is used up; then nothing is counted.
    func begin(at now: Int64, in transaction: StorageTransaction) throws {
        var counted: [(String, FailedSignIns)] = []
        for (name, free) in names {
            let failures = try transaction.entry(FailedSignIns.self, name) ?? .none
            let allowedAt = failures.allowedAt(free: free)
            guard allowedAt <= now || failures.count < free || failures.wasAhead(at: now) else {
                throw ServiceError(
                    .throttled, .requestRateLimited, "too many failed sign-ins: wait before the next",
                    retryAfter: Double(allowedAt - now) / 1000)
            }
            counted.append((name, failures.adding(at: now)))
        }
        for (name, failures) in counted {
            try transaction.put(failures, name, expiresAt: failures.lastAt + FailedSignIns.lifetime)
        }
    }

    /// Takes an attempt back, as its password was right: the name's and the device's failures end, the address's count
    /// by one.
    func succeed(in transaction: StorageTransaction) throws {
        for (name, _) in names {
            guard name.hasPrefix("address") || name.hasPrefix("codes"),
                let failures = try transaction.entry(FailedSignIns.self, name),
                failures.count > 1
            else {
                try transaction.removeInstallationEntry(FailedSignIns.kind, name)
                continue
            }
            try transaction.put(
                FailedSignIns(count: failures.count - 1, lastAt: failures.lastAt), name,
                expiresAt: failures.lastAt + FailedSignIns.lifetime)
        }
    }
}
