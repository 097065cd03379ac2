import Foundation

/// A person's name as keyed archives hold it. Apple's Foundation keeps a name's parts in an object of their own, where
/// this platform's knows only the flat form, and fails the whole archive for the other: identities would not open.
/// Both are read here, and Apple's is written.
final class ArchivedPersonName: NSObject, NSSecureCoding {
    private enum Key {
        static let parts = "NS.nameComponentsPrivate"
        static let phoneticRepresentation = "NS.phoneticRepresentation"
        static let strings: [(String, any WritableKeyPath<PersonNameComponents, String?> & Sendable)] = [
            ("NS.namePrefix", \.namePrefix), ("NS.givenName", \.givenName), ("NS.middleName", \.middleName),
            ("NS.familyName", \.familyName), ("NS.nameSuffix", \.nameSuffix), ("NS.nickname", \.nickname),
        ]
    }

    private enum Form {
        /// What has a name: it holds the parts.
        case name
        case parts
    }

    let components: PersonNameComponents
    private let form: Form

    convenience init(_ components: PersonNameComponents) {
        self.init(components, form: .name)
    }

    private init(_ components: PersonNameComponents, form: Form) {
        self.components = components
        self.form = form
    }

    static var supportsSecureCoding: Bool { true }

    init?(coder: NSCoder) {
        form = .name
        if let parts = coder.object(of: ArchivedPersonName.self, forKey: Key.parts) {
            components = parts.components
            return
        }
        var components = PersonNameComponents()
        for (key, part) in Key.strings { components[keyPath: part] = coder.string(forKey: key) }
        components.phoneticRepresentation = coder.personName(forKey: Key.phoneticRepresentation)
        self.components = components
    }

    func encode(with coder: NSCoder) {
        switch form {
        case .name: coder.encode(ArchivedPersonName(components, form: .parts), forKey: Key.parts)
        case .parts:
            for (key, part) in Key.strings { coder.encode(components[keyPath: part], forKey: key) }
            coder.encode(components.phoneticRepresentation, forKey: Key.phoneticRepresentation)
        }
    }

    override var classForKeyedArchiver: AnyClass? {
        switch form {
        case .name: ArchivedClass.personName.archiverClass
        case .parts: ArchivedClass.personNameParts.archiverClass
        }
    }
}

extension NSCoder {
    /// A name that `encode(_:forKey:)` wrote, or Foundation, here or on Apple's platforms.
    func personName(forKey key: String) -> PersonNameComponents? {
        // For this one object alone: names that an app archives itself are Foundation's.
        let (unarchiver, className) = (self as? NSKeyedUnarchiver, ArchivedClass.personName.name)
        let before: AnyClass? = unarchiver?.class(forClassName: className)
        unarchiver?.setClass(ArchivedPersonName.self, forClassName: className)
        defer { unarchiver?.setClass(before, forClassName: className) }
        return object(of: ArchivedPersonName.self, forKey: key)?.components
    }

    func encode(_ name: PersonNameComponents?, forKey key: String) {
        encode(name.map(ArchivedPersonName.init), forKey: key)
    }
}
