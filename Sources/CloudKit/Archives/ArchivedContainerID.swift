import Foundation

/// A container's identifier in Apple's archives, with the environment that the app's signature selects.
final class ArchivedContainerID: NSObject, NSSecureCoding {
    let identifier: String
    private let environment: Int

    init(_ identifier: String) {
        self.identifier = identifier
        environment = Self.production
    }

    /// The number of the production environment in Apple's archives. The development environment has the number 2.
    private static let production = 1

    static var supportsSecureCoding: Bool { true }

    init?(coder: NSCoder) {
        identifier = coder.string(forKey: ArchiveKey.containerIdentifier) ?? ""
        environment = coder.decodeInteger(forKey: ArchiveKey.containerEnvironment)
    }

    func encode(with coder: NSCoder) {
        coder.encode(identifier as NSString, forKey: ArchiveKey.containerIdentifier)
        coder.encode(environment, forKey: ArchiveKey.containerEnvironment)
    }

    override var classForKeyedArchiver: AnyClass? { ArchivedClass.containerID.archiverClass }
}
