/// The first byte of all sealed data, which names the format.
package enum SealFormat {
    package static let first: UInt8 = 1
}

/// The owner of keys, which is the first part of every context. So data that is sealed or signed for one container,
/// environment or account is invalid for any other.
package struct KeyPlace: Hashable, Sendable {
    package var container: String
    package var environment: String
    /// The user record name of the owner, never `CKCurrentUserDefaultName`.
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

    /// Returns the context of a device's join request, which awaits approval, and of the reply.
    package func requestContext() -> SealContext { context("nephos.join") }
    package func replyContext() -> SealContext { context("nephos.joined") }

    /// - Parameter use: the purpose of the value that is derived from a secret which a person enters.
    package func secretContext(_ use: String, _ secret: [UInt8]) -> SealContext {
        var context = context("nephos.secret")
        context.append(use)
        context.append(secret)
        return context
    }
}

/// The ID of one version of a group's key. Two successive zones of the same name have different IDs.
package enum GroupKeyID {
    /// The size of an ID in bytes.
    package static let size = 8

    /// - Parameter box: the key of the version, sealed for its owner. No two boxes are equal.
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

    /// Returns the context of the values of a record. Sealing appends the field, the type and the key.
    package func valueContext(recordName: String) -> SealContext {
        var context = context("nephos.value")
        context.append(recordName)
        return context
    }
}

/// A group: a zone of its owner, or a share in that zone. The group's key wraps the keys of records.
package struct GroupPlace: Hashable, Sendable {
    package var zone: ZonePlace
    /// The name of the share; empty for the zone itself.
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

    /// - Parameter isInherited: whether the record's key was made for another group.
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

    /// Returns the context in which the secret of a link is sealed, and in which data under that secret is sealed.
    /// - Parameter participant: the participant whose one-time URL has the link; nil for the link in the share's URL.
    package func linkContext(version: Int64, participant: String? = nil) -> SealContext {
        var context = context("nephos.link")
        context.append(version)
        if let participant { context.append(participant) }
        return context
    }

    /// Returns the context of the signed list of the share's participants (`ParticipantList`).
    package func participantsContext() -> SealContext { context("nephos.participants") }

    /// Returns the bytes of a group's key that are signed.
    /// - Parameters:
    ///   - previous: the wrapped key of the previous version; empty in the first version, and in a box for another
    ///     account.
    ///   - administrators: the accounts whose devices may make the next versions. Each is given as the hash of the
    ///     first entry of its device list.
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
