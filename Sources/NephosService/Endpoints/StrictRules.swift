import NephosWire

/// Which requests a strict service refuses: those that Apple's service does not know.
///
/// The library needs some of our additions for what Apple's framework does by itself, such as repeating a save whose
/// answer was lost. Those are refused to other clients alone. What an app asks for, by `CloudKitExtras`, is refused to all.
enum StrictRules {
    /// Returns the name of an addition that a request uses; nil if it uses none.
    static func addition(in request: some Sendable, to answer: some EndpointAnswering, isOfLibrary: Bool) -> String? {
        if let query = (request as? DecodedQuery)?.request {
            if query.wantsCount { return "nephosCount" }
            if query.wantsExplanation { return "nephosExplain" }
            if query.query.extendedFilter != nil { return "nephosFilter" }
        }
        if isOfLibrary { return nil }
        if answer.isAddition { return answer.path }
        switch request {
        case let request as ModifyRecordsRequest:
            if request.clientChangeToken != nil { return "clientChangeToken" }
            let zones = request.operations.map(\.record.zoneID)
            return spansZones(zones, besides: request.zoneID) ? "zoneID" : nil
        case let request as LookupRecordsRequest:
            return spansZones(request.records.map(\.zoneID), besides: request.zoneID) ? "zoneID" : nil
        case let request as ModifySubscriptionsRequest:
            return request.operations.lazy.compactMap(\.addition).first
        default: return nil
        }
    }

    private static func spansZones(_ zones: [ZoneIDDictionary?], besides zone: ZoneIDDictionary?) -> Bool {
        let zone = zone ?? .defaultZone
        let owners = Set((zones + [zone]).compactMap { $0?.ownerRecordName })
        return owners.count > 1 || zones.contains { ($0 ?? zone).zoneName != zone.zoneName }
    }
}

extension SubscriptionOperation {
    fileprivate var addition: String? {
        switch self {
        case .create(let subscription), .update(let subscription):
            subscription.recordType != nil ? "recordType" : subscription.notificationInfo?.addition
        case .delete: nil
        }
    }
}

extension NotificationInfoDictionary {
    /// The first key that Web Services do not document.
    fileprivate var addition: String? {
        if (title ?? titleLocalizationKey) != nil || titleLocalizationArgs != nil { return "title" }
        if (subtitle ?? subtitleLocalizationKey) != nil || subtitleLocalizationArgs != nil { return "subtitle" }
        if shouldSendMutableContent { return "shouldSendMutableContent" }
        return collapseIDKey == nil ? nil : "collapseIDKey"
    }
}

extension NephosService {
    /// Whether the service refuses what Apple's does not know.
    package var refusesAdditions: Bool { configuration.refusesAdditions }

    /// Refuses additions in the body of a request.
    /// - Throws: `ServiceError`, which names the addition.
    package func checkAdditions(inBody body: [UInt8], _ context: RequestContext) throws(ServiceError) {
        guard refusesAdditions, !context.isOfLibrary, let key = RequestAdditions.first(in: body) else { return }
        throw .addition(key)
    }

    /// Refuses additions in a decoded request.
    func checkAdditions(
        in request: some Sendable, to answer: some EndpointAnswering, _ context: RequestContext
    ) throws(ServiceError) {
        guard refusesAdditions,
            let name = StrictRules.addition(in: request, to: answer, isOfLibrary: context.isOfLibrary)
        else { return }
        throw .addition(name)
    }
}

extension ServiceError {
    fileprivate static func addition(_ name: String) -> ServiceError {
        .invalid("'\(name)' is an addition of Nephos, which Apple's service does not know: a strict service refuses it")
    }
}
