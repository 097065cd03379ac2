/// The reason why a text names no proxy. It says what to write instead.
package struct InvalidProxy: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The reverse proxies that are believed about the clients for which they ask.
package struct TrustedProxies: Hashable, Sendable {
    /// The client of a request.
    package struct Client: Hashable, Sendable {
        package var address: IPAddress
        package var isSecure: Bool
    }

    /// The addresses whose first bits are those of `base`.
    private struct Range: Hashable {
        let base: IPAddress
        let (highMask, lowMask): (UInt64, UInt64)

        /// - Parameter prefix: the number of leading bits that are compared, of the 128 of an address of either family.
        init(_ base: IPAddress, prefix: Int) {
            self.base = base
            highMask = ~0 << UInt64(max(0, 64 - prefix))
            lowMask = ~0 << UInt64(min(64, 128 - prefix))
        }

        /// An IPv6 range has no IPv4 addresses.
        func contains(_ address: IPAddress) -> Bool {
            (address.high ^ base.high) & highMask == 0 && (address.low ^ base.low) & lowMask == 0
                && address.isIPv4 == base.isIPv4
        }

        var start: IPAddress { IPAddress(high: base.high & highMask, low: base.low & lowMask) }
    }

    private let ranges: [Range]

    /// No proxy is trusted: the sender of a request is its client.
    package static let none = TrustedProxies()

    private init() { ranges = [] }

    /// - Parameter texts: addresses (`192.0.2.1`, `2001:db8::1`) and ranges (`10.0.0.0/8`, `2001:db8::/32`).
    package init(_ texts: [String]) throws(InvalidProxy) {
        var ranges: [Range] = []
        for text in texts { ranges.append(try Self.range(text)) }
        self.ranges = ranges
    }

    package var isEmpty: Bool { ranges.isEmpty }

    package func contains(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

    private static func range(_ text: String) throws(InvalidProxy) -> Range {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else {
            throw InvalidProxy(
                "'\(text)' is no address and no range: write them as in 192.0.2.1, 10.0.0.0/8 or 2001:db8::/32")
        }
        let bits = first.contains(":") ? 128 : 32
        var prefix = bits
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let written = Int(parts[1]), written <= bits
            else { throw InvalidProxy("'\(text)' needs a number from 0 to \(bits) after its slash") }
            prefix = written
        }
        let range = Range(address, prefix: prefix + 128 - bits)
        guard range.start == address else {
            throw InvalidProxy("'\(text)' is not the first address of its range: write \(range.start)/\(prefix)")
        }
        return range
    }
}

extension TrustedProxies {
    /// Returns the client of a request that `peer` sent. Each proxy adds the address from which it received the request
    /// on the right, so the client is the right-most one that is not a trusted proxy. Everything left of it is the
    /// client's own word. Headers that are malformed, that no proxy sent or that contradict each other do not count:
    /// then the client is `peer`.
    /// - Parameter isSecure: whether `peer` sent the request over TLS.
    func client(of peer: IPAddress, isSecure: Bool, _ headers: ForwardedHeaders) -> Client {
        let own = Client(address: peer, isSecure: isSecure)
        guard contains(peer), let ends = try? ends(of: peer, headers) else { return own }
        // A proxy passes the kind of headers on that it does not know, so one of both kinds may be the client's.
        let (addresses, protocols) = (Set(ends.compactMap(\.address)), Set(ends.compactMap(\.isSecure)))
        guard addresses.count <= 1 else { return own }
        return Client(
            address: addresses.first ?? peer,
            isSecure: protocols.count == 1 ? protocols.first ?? isSecure : isSecure)
    }

    /// The beginning of the way, for each kind of headers that the request has. Its address is nil if the headers name
    /// none.
    private func ends(
        of peer: IPAddress, _ headers: ForwardedHeaders
    ) throws(ForwardedHeaders.Malformed) -> [ForwardedHeaders.Hop] {
        let hops = [try headers.forwardedHops(), try headers.unofficialHops()]
        return hops.compactMap { $0.map { end(of: $0, peer) } }
    }

    private func end(of hops: [ForwardedHeaders.Hop], _ peer: IPAddress) -> ForwardedHeaders.Hop {
        // Headers with a protocol alone say nothing of addresses.
        if hops.count == 1, let only = hops.first, only.isWithoutNode { return only }
        var end = ForwardedHeaders.Hop(address: peer, isSecure: nil)
        for hop in hops.reversed() {
            end.isSecure = hop.isSecure
            // The client of a proxy that hides it is the proxy.
            guard let address = hop.address else { return end }
            end.address = address
            if !contains(address) { return end }
        }
        return end
    }
}
