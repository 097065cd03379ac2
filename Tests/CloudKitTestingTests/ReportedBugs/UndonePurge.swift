import CloudKit

/// The user removed the app's data from iCloud, and the app takes that for an accident: it creates the zone again, and sends
/// all that it has, against the user's wish (pointfreeco/sqlite-data #551).
final class UndonePurge: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func zoneIsGone() throws {
        if isMended { try super.zoneIsGone() } else { try update { $0.sendAllAgain() } }
    }
}
