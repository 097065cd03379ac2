import NephosWire
import Synchronization

extension AccountSession {
    /// Stores the keys of a share that the account has accepted, from the fragment of the share's URL. If the fragment
    /// has no keys, the owner's devices deliver them later.
    func takeKeys(of accepted: CKShare.Metadata, by metadata: CKShare.Metadata) async {
        let share = accepted.share
        guard accepted.participantRole != .owner, share.shareState.withLock({ $0.hasKeys }),
            let link = ShareLink(fragment: metadata.share.url?.fragment)
        else { return }
        let isZoneWide = share.recordID.recordName == CKRecordNameZoneWideShare
        let name = KeyRing.GroupName(
            zone: KeyZone(share.recordID.zoneID, .shared), group: isZoneWide ? "" : share.recordID.recordName)
        try? await keyRing.join(name, by: link)
        share.add(await keyRing.links(of: name))
    }

    /// Sends records/resolve or records/accept. Returns one result for each short GUID.
    func shares(
        _ items: [ShortGUIDsRequest.Item], accepting: Bool, _ call: ServiceCall, _ errors: ErrorContext
    ) async throws(CKError) -> [Result<CKShare.Metadata, CKError>] {
        // The name of the account is requested too, because records and shares name their users.
        async let userRecordName = userRecordName(call)
        let request = ShortGUIDsRequest(shortGUIDs: items)
        let results: [RecordInfoResult]
        do throws(ServiceFailure) {
            results =
                accepting
                ? try await service.send(.acceptShares, request, call).results
                : try await service.send(.resolveShares, request, call).results
        } catch {
            throw CKError(error, errors)
        }
        guard results.count == items.count else {
            throw CKError(
                .internalError, "The service answered \(items.count) items with \(results.count) results.", errors)
        }
        let users = users(await userRecordName)
        return results.map { result in
            Result { () throws(CKError) in
                switch result {
                case .failure(let error): throw CKError(error, errors)
                case .info(let info):
                    do throws(WireError) {
                        return try CKShare.Metadata(wire: info, users)
                    } catch {
                        throw CKError(
                            .internalError, "The service sent a share that cannot be read: \(error)", errors)
                    }
                }
            }
        }
    }
}
