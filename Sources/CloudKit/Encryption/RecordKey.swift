import NephosCrypto
import NephosWire

/// The key that seals the values of a record.
struct RecordKey: Hashable, Sendable {
    /// The first byte of all sealed values, which names the format.
    static let format = SealFormat.first

    var id: [UInt8]
    var key: SealKey

    init(id: [UInt8], key: SealKey) {
        self.id = id
        self.key = key
    }

    /// Returns a new random key.
    static func random() -> RecordKey {
        RecordKey(id: RandomBytes.make(WrappedRecordKey.idSize), key: .random())
    }

    /// The number of bytes by which a sealed value exceeds its content.
    private static let overhead = 1 + WrappedRecordKey.idSize + SealKey.overhead

    /// Returns the size of a value in bytes once it is sealed; 0 for a value that cannot be sealed.
    static func sealedSize(of value: FieldValue) -> Int {
        SealedContent.bytes(of: value).map { overhead + $0.count } ?? 0
    }

    /// Returns the ID of the key that sealed a value; nil if the value is not sealed.
    static func id(of sealed: SealedFieldValue) -> [UInt8]? { id(ofBytes: sealed.bytes) }

    static func id(ofBytes sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead, sealed[0] == format else { return nil }
        return Array(sealed[1...WrappedRecordKey.idSize])
    }

    /// Seals the value of a field.
    /// - Parameters:
    ///   - record: the `ZonePlace.valueContext` of the record.
    ///   - nonce: the nonce of a test vector; nil to use a random one.
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

    /// Returns the value; nil unless this key sealed it for this field of this record, with this type.
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

    /// Wraps the key under the key of a group.
    /// - Parameter isInherited: whether the key was made for another group.
    func wrapped(
        under key: SealKey, version: Int64, recordName: String, in group: GroupPlace, isInherited: Bool = false
    ) -> WrappedRecordKey {
        let context = group.recordKeyContext(
            recordName: group.zone.account.resolved(recordName), id: id, version: version, isInherited: isInherited)
        return WrappedRecordKey(
            id: id, group: group.group, version: version,
            wrapped: key.seal(self.key.bytes, context: context, header: [Self.format]), isInherited: isInherited)
    }

    /// Nil if the wrapped key belongs to another record, or if another group's key wrapped it.
    init?(_ wrapped: WrappedRecordKey, under key: SealKey, recordName: String, in group: GroupPlace) {
        let context = group.recordKeyContext(
            recordName: group.zone.account.resolved(recordName), id: wrapped.id, version: wrapped.version,
            isInherited: wrapped.isInherited)
        guard wrapped.wrapped.first == Self.format,
            let key = key.open(wrapped.wrapped.dropFirst(), context: context).flatMap(SealKey.init)
        else { return nil }
        self.init(id: wrapped.id, key: key)
    }
}

extension ZonePlace {
    /// Returns the seal context of a record's values.
    func context(ofRecord name: String) -> SealContext { valueContext(recordName: account.resolved(name)) }
}

extension GroupPlace {
    func signedBytes(_ key: WrappedGroupKey) -> [UInt8] {
        signedBytes(
            version: key.version, recipient: key.recipient, box: key.box, previous: key.previous,
            administrators: key.administrators)
    }
}

extension KeyPlace {
    /// Returns the name of a record as its owner and the service spell it.
    func resolved(_ recordName: String) -> String { recordName == CKCurrentUserDefaultName ? owner : recordName }
}
