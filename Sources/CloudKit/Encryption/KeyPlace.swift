import NephosCrypto
import NephosWire

/// Whose keys they are: what every context begins with, so that nothing that is sealed or signed in one container,
/// environment or account is good in another.
struct KeyPlace: Hashable, Sendable {
    var container: String
    var environment: String
    /// The owner's user record name, never `CKCurrentUserDefaultName`.
    var owner: String

    fileprivate func context(_ label: String) -> SealContext {
        var context = SealContext(label)
        context.append([RecordKey.format])
        context.append(container)
        context.append(environment)
        context.append(owner)
        return context
    }

    /// The record's name as its owner and the service have it.
    func resolved(_ recordName: String) -> String { recordName == CKCurrentUserDefaultName ? owner : recordName }

    func listContext() -> SealContext { context("nephos.device") }

    /// What a device that is to be approved says of itself, and what it is answered.
    func requestContext() -> SealContext { context("nephos.join") }
    func replyContext() -> SealContext { context("nephos.joined") }

    /// - Parameter use: what is made of a secret that a person carries.
    func secretContext(_ use: String, _ secret: [UInt8]) -> SealContext {
        var context = context("nephos.secret")
        context.append(use)
        context.append(secret)
        return context
    }
}

/// A zone of its owner's.
struct ZonePlace: Hashable, Sendable {
    var account: KeyPlace
    var zoneName: String

    fileprivate func context(_ label: String) -> SealContext {
        var context = account.context(label)
        context.append(zoneName)
        return context
    }

    /// What a value belongs to, but for its field, type and key.
    func valueContext(recordName: String) -> SealContext {
        var context = context("nephos.value")
        context.append(account.resolved(recordName))
        return context
    }
}

/// A zone of its owner's, or a share in it: whose key wraps those of records.
struct GroupPlace: Hashable, Sendable {
    var zone: ZonePlace
    /// The name of the share; empty for the zone.
    var group = ""

    private func context(_ label: String) -> SealContext {
        if group.isEmpty { return zone.context(label) }
        var context = zone.context(label + ".share")
        context.append(group)
        return context
    }

    /// - Parameter isInherited: whether the key was not made for this group.
    func recordKeyContext(recordName: String, id: [UInt8], version: Int64, isInherited: Bool) -> SealContext {
        var context = context(isInherited ? "nephos.inheritedkey" : "nephos.recordkey")
        context.append(zone.account.resolved(recordName))
        context.append(id)
        context.append(version)
        return context
    }

    func previousKeyContext(version: Int64) -> SealContext {
        var context = context("nephos.previouskey")
        context.append(version)
        return context
    }

    /// What a link's secret is sealed in, and what is sealed under it.
    func linkContext(version: Int64) -> SealContext {
        var context = context("nephos.link")
        context.append(version)
        return context
    }

    /// What a signature of a group's key is of.
    func signedBytes(_ key: WrappedGroupKey) -> [UInt8] {
        var context = context("nephos.zonekey")
        context.append(key.version)
        context.append(key.recipient)
        context.append(key.box)
        context.append(key.previous)
        return context.bytes
    }
}

/// The key that seals the values of a record.
struct RecordKey: Hashable, Sendable {
    /// The first byte of everything that is sealed.
    static let format: UInt8 = 1

    var id: [UInt8]
    var key: SealKey

    init(id: [UInt8], key: SealKey) {
        self.id = id
        self.key = key
    }

    /// A new one.
    static func random() -> RecordKey {
        RecordKey(id: RandomBytes.make(WrappedRecordKey.idSize), key: .random())
    }

    /// The ID of the key that sealed a value; nil for what is no sealed value.
    static func id(of sealed: SealedFieldValue) -> [UInt8]? { id(ofBytes: sealed.bytes) }

    static func id(ofBytes sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= 1 + WrappedRecordKey.idSize + SealKey.overhead, sealed[0] == format else { return nil }
        return Array(sealed[1...WrappedRecordKey.idSize])
    }

    /// - Parameters:
    ///   - record: `ZonePlace.valueContext` of the record.
    ///   - nonce: for the vectors of tests alone.
    func seal(
        _ value: FieldValue, field: String, of record: SealContext, nonce: [UInt8]? = nil
    ) -> SealedFieldValue? {
        guard let content = SealedContent.bytes(of: value) else { return nil }
        let context = context(record, field, value.type)
        let header = [Self.format] + id
        let bytes =
            nonce.map { key.seal(content, context: context, header: header, nonce: $0) }
            ?? key.seal(content, context: context, header: header)
        return SealedFieldValue(type: value.type, bytes: bytes)
    }

    /// Nil for a value that this key did not seal for this field of this record, with this type.
    func open(_ sealed: SealedFieldValue, field: String, of record: SealContext) -> FieldValue? {
        guard Self.id(of: sealed) == id else { return nil }
        let content = key.open(
            sealed.bytes.dropFirst(1 + WrappedRecordKey.idSize), context: context(record, field, sealed.type))
        return content.flatMap { SealedContent.value($0[...], type: sealed.type) }
    }

    func context(_ record: SealContext, _ field: String, _ type: FieldType) -> SealContext {
        var context = record
        context.append(field)
        context.append(type.wireName)
        context.append(id)
        return context
    }

    // MARK: Wrapping

    /// The key, wrapped for whoever has a group's key.
    /// - Parameter isInherited: whether it was not made for that group.
    func wrapped(
        under key: SealKey, version: Int64, recordName: String, in group: GroupPlace, isInherited: Bool = false
    ) -> WrappedRecordKey {
        let context = group.recordKeyContext(
            recordName: recordName, id: id, version: version, isInherited: isInherited)
        return WrappedRecordKey(
            id: id, group: group.group, version: version,
            wrapped: key.seal(self.key.bytes, context: context, header: [Self.format]), isInherited: isInherited)
    }

    /// Nil where the wrapped key is not this record's, or not wrapped under this group's key.
    init?(_ wrapped: WrappedRecordKey, under key: SealKey, recordName: String, in group: GroupPlace) {
        let context = group.recordKeyContext(
            recordName: recordName, id: wrapped.id, version: wrapped.version, isInherited: wrapped.isInherited)
        guard wrapped.wrapped.first == Self.format,
            let key = key.open(wrapped.wrapped.dropFirst(), context: context).flatMap(SealKey.init)
        else { return nil }
        self.init(id: wrapped.id, key: key)
    }
}
