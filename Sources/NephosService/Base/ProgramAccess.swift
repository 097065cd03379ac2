import NephosWire

/// What a program token or a server-to-server key lets its bearer do in a container, as its account.
package struct ProgramAccess: Hashable, Sendable {
    package var isReadOnly: Bool
    package var databases: Set<DatabaseScope>
    /// What refusals call the credential.
    private(set) var name = "program token"

    package init(isReadOnly: Bool, databases: Set<DatabaseScope>) {
        self.isReadOnly = isReadOnly
        self.databases = databases
    }

    static let serverKey = {
        var access = ProgramAccess(isReadOnly: false, databases: [.public])
        access.name = "server-to-server key"
        return access
    }()
}

extension RequestContext {
    /// Throws unless the caller's token or key lets it use such an endpoint.
    /// - Parameter databases: the databases that the endpoint reaches, whichever the request names; nil for that one.
    /// - Throws: `permissionFailure`.
    func checkProgram(_ use: EndpointUse, _ databases: [DatabaseScope]?) throws(ServiceError) {
        guard let program else { return }
        for database in [scope] + (databases ?? []) where !program.databases.contains(database) {
            throw .programRefusal("the \(program.name) does not reach the \(database.rawValue) database")
        }
        switch use {
        case .reads: return
        case .writes where program.isReadOnly:
            throw .programRefusal("WRITE operation not permitted: the program token reads")
        case .writes: return
        case .credentials: throw .programRefusal("a \(program.name) enrols no device, and makes no tokens")
        }
    }
}

extension ServiceError {
    fileprivate static func programRefusal(_ reason: String) -> ServiceError {
        ServiceError(.accessDenied, .permissionFailure, reason)
    }
}
