/// The first byte of all sealed data.
package enum SealFormat {
    package static let first: UInt8 = 1
}

/// The owner of keys, the first part of every context, so that data sealed or signed in one container, environment or
/// account is invalid in any other.
package struct KeyPlace: Hashable, Sendable {
    package var container: String
    package var environment: String
    /// The owner's user record name, never `CKCurrentUserDefaultName`.
    package var owner: String

    package init(container: String, environment: String, owner: String) {
        self.container = container
        self.environment = environment
        self.owner = owner
    }

    fileprivate func context(_ label: String) -> SealContext {
        var context = SealContext(label)
        context.append([SealFormat.first])
        context.append(container)
        context.append(environment)
        context.append(owner)
        return context
    }

    package func listContext() -> SealContext { context("nephos.device") }

    /// The context of a join request, by a device that awaits approval, and of its reply.
    package func requestContext() -> SealContext { context("nephos.join") }
    package func replyContext() -> SealContext { context("nephos.joined") }

    /// - Parameter use: the value derived from a secret that a person enters.
    package func secretContext(_ use: String, _ secret: [UInt8]) -> SealContext {
        var context = context("nephos.secret")
        context.append(use)
        context.append(secret)
        return context
    }
}

/// The ID of a version of a group's key: two successive zones of one name have different ones.
package enum GroupKeyID {
    /// Bytes.
    package static let size = 8

    /// - Parameter box: the version's key, sealed for its owner, which is never the same twice.
    package static func of(box: [UInt8]) -> [UInt8] { Array(ContentHash.of(box).prefix(size)) }
}

/// A zone in its owner's account.
package struct ZonePlace: Hashable, Sendable {
    package var account: KeyPlace
    package var zoneName: String

    package init(account: KeyPlace, zoneName: String) {
        self.account = account
        self.zoneName = zoneName
    }

    fileprivate func context(_ label: String) -> SealContext {
        var context = account.context(label)
        context.append(zoneName)
        return context
    }

    /// The context of a record's values, before field, type and key are appended.
    package func valueContext(recordName: String) -> SealContext {
        var context = context("nephos.value")
        context.append(recordName)
        return context
    }
}

/// A group, whose key wraps records' keys: a zone of its owner, or a share in it.
package struct GroupPlace: Hashable, Sendable {
    package var zone: ZonePlace
    /// The name of the share; empty for the zone.
    package var group: String

    package init(zone: ZonePlace, group: String = "") {
        self.zone = zone
        self.group = group
    }

    private func context(_ label: String) -> SealContext {
        if group.isEmpty { return zone.context(label) }
        var context = zone.context(label + ".share")
        context.append(group)
        return context
    }

    /// - Parameter isInherited: whether the key was not made for this group.
    package func recordKeyContext(recordName: String, id: [UInt8], version: Int64, isInherited: Bool) -> SealContext {
        var context = context(isInherited ? "nephos.inheritedkey" : "nephos.recordkey")
        context.append(recordName)
        context.append(id)
        context.append(version)
        return context
    }

    package func previousKeyContext(version: Int64) -> SealContext {
        var context = context("nephos.previouskey")
        context.append(version)
        return context
    }

    /// The context in which a link's secret is sealed, and data under it.
    /// - Parameter participant: the participant of a one-time URL's link; nil for the share's.
    package func linkContext(version: Int64, participant: String? = nil) -> SealContext {
        var context = context("nephos.link")
        context.append(version)
        if let participant { context.append(participant) }
        return context
    }

    /// The signed bytes of a group's key.
    /// - Parameters:
    ///   - previous: the wrapped key of the previous version; empty in the first, and in a box for another account.
    ///   - administrators: the accounts whose devices may make the following versions, as the hashes of their lists'
    ///     first entries.
    package func signedBytes(
        version: Int64, recipient: [UInt8], box: [UInt8], previous: [UInt8], administrators: [[UInt8]]
    ) -> [UInt8] {
        var context = context("nephos.zonekey")
        context.append(version)
        context.append(recipient)
        context.append(box)
        context.append(previous)
        for administrator in administrators { context.append(administrator) }
        return context.bytes
    }
}
