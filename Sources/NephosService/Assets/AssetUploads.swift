import NephosStorage
import NephosWire
import Synchronization

/// The uploads in progress in a store. The class bounds the file descriptors, disk bytes and quota that each account,
/// and all accounts together, use for uploads.
final class AssetUploads: Sendable {
    /// The uploader of a file, and the limits of the upload.
    struct Terms: Sendable {
        var account: Int64
        /// The owner whose byte count includes the file: the account's own database, or the account's unsaved uploads
        /// to other databases.
        var owner: OwnerID
        /// The maximum number of bytes per file.
        var sizeLimit: Int64
        /// The maximum number of bytes of all files per database.
        var databaseLimit: Int64
        /// The present number of bytes of all files of the database.
        var databaseBytes: Int64
    }

    private struct Share {
        var count = 0
        var bytes: Int64 = 0
    }

    private struct State {
        var count = 0
        var accounts: [Int64: Share] = [:]
        var owners: [OwnerID: Int64] = [:]
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// Reserves capacity for an upload.
    /// - Parameter size: the file's size in bytes; nil if unknown.
    func begin(_ terms: Terms, size: Int64?) throws(ServiceError) -> Reservation {
        let begins = state.withLock { state in
            let share = state.accounts[terms.account] ?? Share()
            guard state.count < Limits.uploadsPerStore, share.count < Limits.uploadsPerAccount else { return false }
            state.count += 1
            state.accounts[terms.account, default: Share()].count += 1
            return true
        }
        if !begins { throw .tooManyUploads }
        let reservation = Reservation(self, terms)
        try reservation.grow(to: size ?? 0)
        return reservation
    }

    /// The capacity that is reserved for one upload. The reservation ends when the object is deinitialised.
    final class Reservation: Sendable {
        private let uploads: AssetUploads
        private let terms: Terms
        private let size = Mutex(Int64(0))
        /// The maximum number of bytes of all files per database.
        var databaseLimit: Int64 { terms.databaseLimit }

        fileprivate init(_ uploads: AssetUploads, _ terms: Terms) {
            self.uploads = uploads
            self.terms = terms
        }

        deinit { uploads.end(terms, size.withLock { $0 }) }

        /// Grows the reservation to the number of bytes of the file that have arrived.
        func grow(to total: Int64) throws(ServiceError) {
            if total > terms.sizeLimit { throw .assetTooLarge(limit: terms.sizeLimit) }
            let more = size.withLock { total - $0 }
            if more <= 0 { return }
            try uploads.grow(terms, by: more)
            size.withLock { $0 = total }
        }
    }

    private func grow(_ terms: Terms, by more: Int64) throws(ServiceError) {
        let refusal = state.withLock { state -> ServiceError? in
            let pending = state.owners[terms.owner] ?? 0
            let (total, isTooMuch) = terms.databaseBytes.addingReportingOverflow(pending + more)
            if isTooMuch || total > terms.databaseLimit { return .assetQuotaExceeded(limit: terms.databaseLimit) }
            let bytes = state.accounts[terms.account]?.bytes ?? 0
            // One file of the maximum size always fits.
            if bytes > 0, bytes + more > max(Limits.uploadedBytesPerAccount, terms.sizeLimit) { return .tooManyUploads }
            state.owners[terms.owner] = pending + more
            state.accounts[terms.account, default: Share()].bytes += more
            return nil
        }
        if let refusal { throw refusal }
    }

    private func end(_ terms: Terms, _ bytes: Int64) {
        state.withLock { state in
            state.count -= 1
            var share = state.accounts[terms.account] ?? Share()
            share.count -= 1
            share.bytes -= bytes
            state.accounts[terms.account] = share.count > 0 ? share : nil
            let pending = (state.owners[terms.owner] ?? 0) - bytes
            state.owners[terms.owner] = pending > 0 ? pending : nil
        }
    }
}

extension ServiceError {
    static func assetTooLarge(limit: Int64) -> ServiceError {
        .limitExceeded("the file is larger than an asset may be: \(limit) bytes")
    }

    static func assetQuotaExceeded(limit: Int64) -> ServiceError {
        ServiceError(
            .quotaExceeded, .quotaExceeded,
            "the database has no room for the file: its assets may have \(limit) bytes together, those included that were"
                + " deleted in the last \(Limits.assetRetention / 86_400_000) days")
    }

    static let tooManyUnsavedUploads = ServiceError(
        .quotaExceeded, .quotaExceeded,
        "the account has uploaded \(Limits.unsavedUploads) files to others' databases and has not saved them: save some, or"
            + " wait until they are forgotten, a day after they were uploaded")

    static let tooManyUploads = ServiceError(
        .tryAgainLater, .serviceUnavailable, "too many files are being uploaded: wait for some of them to finish",
        retryAfter: 1)

    static let noRoomForAssets = ServiceError(
        .tryAgainLater, .serviceUnavailable,
        "the service's disk has no room for files: \(Limits.freeDisk >> 20) MiB stay free there for records",
        retryAfter: 30)

    package static let uploadTooSlow = ServiceError(
        .tryAgainLater, .serviceUnavailable,
        "the upload is slower than \(Limits.slowestUpload) bytes a second: begin again on a better connection",
        retryAfter: 5)

    static let uploadExpired = ServiceError.invalid(
        "the upload address is not valid, or not any more: ask for another (assets/upload)")

    static let assetNotFound = ServiceError(
        .notFound, .assetNotAvailable, "there is no such file, or its address has expired: read the record again")
}
