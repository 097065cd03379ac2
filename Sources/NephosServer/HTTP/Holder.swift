/// The holder of a connection's bytes: an account, or the user or network address of a client without one.
enum Holder: Hashable, Sendable {
    case account(String)
    case address(PeerAddress)
    /// The user ID of a client of a Unix socket.
    case localUser(UInt32)
}
