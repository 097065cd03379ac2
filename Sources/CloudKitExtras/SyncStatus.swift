public import CloudKit
public import Foundation

/// How far a sync engine is: for a label such as "3 changes wait, since two minutes". Not part of Apple's API.
///
/// Times follow the clock of the engine's container: the cloud's in a test with CloudKitTesting. After a switch of accounts
/// the status is the new account's.
public struct SyncStatus: Sendable {
    /// The changes to records and zones that the service does not have yet.
    public var pendingChanges: Int
    /// The zones with changes on the service that the device has not fetched.
    public var unfetchedZones: Int
    /// The end of the last fetch without a failure, since this engine began; nil for none.
    public var lastFetch: Date?
    /// The end of the last send without a failure, since this engine began; nil for none.
    public var lastSend: Date?
    /// The failure of the last fetch or send, until one of the same kind succeeds.
    public var lastError: CKError?
    /// The seconds since the first change, of the device or of the service, that is not synchronised as far as the engine
    /// knows; 0 if none is.
    public var lag: TimeInterval
}

extension CKSyncEngine {
    /// The engine's status. A delegate reads it at `didFetchChanges`, `didSendChanges` and `stateUpdate`; a view as often as
    /// it shows it.
    ///
    /// The program stops in a strict test cloud (`.cloud(isStrict: true)`), as Apple's API has no such property.
    public var syncStatus: SyncStatus {
        if refusesAdditions {
            fatalError("CKSyncEngine.syncStatus: not part of Apple's API, and this cloud is strict.")
        }
        let progress = progress
        let pending = state.pendingRecordZoneChanges.count + state.pendingDatabaseChanges.count
        return SyncStatus(
            pendingChanges: pending + (state.hasPendingUntrackedChanges ? 1 : 0),
            unfetchedZones: state.zoneIDsWithUnfetchedServerChanges.count, lastFetch: progress.lastFetch,
            lastSend: progress.lastSend, lastError: progress.lastError,
            lag: progress.behindSince.map { max(0, now.timeIntervalSince($0)) } ?? 0)
    }
}
