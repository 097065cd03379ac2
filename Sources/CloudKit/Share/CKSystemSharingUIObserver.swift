public import Foundation

/// Hears of what people do to shares in the system's own user interface (CKSystemSharingUIObserver, Apple's
/// documentation).
///
/// There is no such interface here, so its blocks are never called.
public class CKSystemSharingUIObserver: NSObject, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: what changes is behind the lock.
    private struct Blocks: Sendable {
        var didSave: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var didStop: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private let blocks = Locked(Blocks())

    /// An observer of the shares of a container.
    public init(container: CKContainer) { super.init() }

    /// For when a share was saved, or could not be.
    public var systemSharingUIDidSaveShareBlock: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)? {
        get { blocks.didSave }
        set { blocks.didSave = newValue }
    }

    /// Called when the owner stopped sharing, or could not.
    public var systemSharingUIDidStopSharingBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)? {
        get { blocks.didStop }
        set { blocks.didStop = newValue }
    }
}
