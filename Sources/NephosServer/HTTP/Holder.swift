/// The holder of a connection's bytes: an account, or the network address of a client without one.
enum Holder: Hashable, Sendable {
    case account(String)
    case address(PeerAddress)
}
