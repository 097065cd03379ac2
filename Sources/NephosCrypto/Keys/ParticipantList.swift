/// The participants of a share that may have the share's key, as a device of the owner's, or of an administrator's,
/// signed them. A service, or a caller with a token alone, can name participants, but cannot sign them.
package struct ParticipantList: Hashable, Sendable {
    /// The number of the list, from 1. Each list of a group has the next number.
    package var number: Int64
    /// The ID (`GroupKeyID`) of the first version of the group's key. A list of a former zone with the same name has
    /// another one.
    package var keyID: [UInt8]
    /// The public half of the owner's account key at the time of signing.
    package var accountKey: [UInt8]
    /// Whether every account that has the share's URL may join.
    package var isOpen: Bool
    /// The identifiers of the participants.
    package var participants: Set<String>
    /// The public signing key of the device that signed the list.
    package var signer: [UInt8]

    package init(
        number: Int64, keyID: [UInt8], accountKey: [UInt8], isOpen: Bool, participants: Set<String>,
        signer: [UInt8] = []
    ) {
        self.number = number
        self.keyID = keyID
        self.accountKey = accountKey
        self.isOpen = isOpen
        self.participants = participants
        self.signer = signer
    }

    private func unsigned(_ group: GroupPlace) -> [UInt8] {
        var context = group.participantsContext()
        context.append(number)
        context.append(keyID)
        context.append(accountKey)
        context.append([isOpen ? 1 : 0])
        context.append(signer)
        for participant in participants.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            context.append(participant)
        }
        return context.bytes
    }

    /// Returns the stored form of the list, signed by `pair`.
    package func signed(by pair: SigningKeyPair, for group: GroupPlace) -> [UInt8] {
        var list = self
        list.signer = pair.publicKey
        let bytes = list.unsigned(group)
        return bytes + pair.signature(of: bytes)
    }

    /// Nil if the bytes are not a list for this group, or if the signer did not sign them.
    /// - Parameter isChecked: whether the signature has already been verified.
    package init?(_ bytes: [UInt8], for group: GroupPlace, isChecked: Bool = false) {
        let message = Array(bytes.dropLast(SigningKeyPair.signatureSize))
        let head = group.participantsContext().bytes
        guard message.starts(with: head) else { return nil }
        var reader = ContextReader(message.dropFirst(head.count))
        guard let number = reader.number(), let keyID = reader.value(), let accountKey = reader.value(),
            let isOpen = reader.value(), let signer = reader.value(), signer.count == SigningKeyPair.publicKeySize
        else { return nil }
        self.init(
            number: number, keyID: keyID, accountKey: accountKey, isOpen: isOpen == [1], participants: [],
            signer: signer)
        while let participant = reader.value() { participants.insert(String(decoding: participant, as: UTF8.self)) }
        // Each list has one form, so a text that is not UTF-8, unsorted or repeated is refused.
        guard reader.isAtEnd, unsigned(group) == message,
            isChecked
                || SigningKeyPair.isValid(Array(bytes.suffix(SigningKeyPair.signatureSize)), of: message, by: signer)
        else { return nil }
    }

    /// Whether two lists let the same accounts have the key.
    package func covers(sameAs other: ParticipantList) -> Bool {
        isOpen == other.isOpen && participants == other.participants
    }
}
