public import Foundation

/// Observes changes to shares in the system's own user interface (CKSystemSharingUIObserver, Apple's documentation).
///
/// This platform has no such interface, so the blocks are never called.
public class CKSystemSharingUIObserver: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: the lock guards all mutable state.
    private struct Blocks: Sendable {
        var didSave: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var didStop: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private let blocks = Locked(Blocks())

    /// Creates an observer of a container's shares.
    public init(container: CKContainer) { super.init() }

    /// Called after the save of a share succeeded or failed.
    public var systemSharingUIDidSaveShareBlock: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)? {
        get { blocks.didSave }
        set { blocks.didSave = newValue }
    }

    /// Called after the owner stopped sharing, or failed to stop.
    public var systemSharingUIDidStopSharingBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)? {
        get { blocks.didStop }
        set { blocks.didStop = newValue }
    }
}
