// swift-format-ignore-file: AlwaysUseLowerCamelCase, NoLeadingUnderscores

public import Foundation

// The former names of the types around shares: from before CloudKit's Swift API nested them, and from the time in
// between.

@available(*, deprecated, renamed: "CKShare.Metadata")
public typealias CKShareMetadata = CKShare.Metadata
@available(*, deprecated, renamed: "CKShare.Participant")
public typealias CKShareParticipant = CKShare.Participant
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantRole = CKShare.ParticipantRole
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantType = CKShare.ParticipantType
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType

extension CKShare {
    /// The name under which Objective-C's method reaches Swift where CloudKit's own is not available.
    @available(*, deprecated, renamed: "oneTimeURL(for:)")
    public func __oneTimeURL(forParticipantID participantID: CKShare.Participant.ID) -> URL? {
        oneTimeURL(for: participantID)
    }
}

extension CKShare.Participant {
    /// The name under which Objective-C's property reaches Swift where CloudKit's own is not available.
    @available(*, deprecated, renamed: "participantID")
    public var __participantID: CKShare.Participant.ID { participantID }
}
