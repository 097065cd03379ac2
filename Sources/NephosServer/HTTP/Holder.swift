/// The holder of a connection's bytes: an account, or a network address without one.
enum Holder: Hashable, Sendable {
    case account(String)
    case address(PeerAddress)
}
