import NephosWire

extension NotificationContent {
    /// Converts a payload from the service to a notification's content.
    init(_ payload: NotificationPayload) {
        self.init()
        alert = Alert(
            body: payload.alert.text, bodyKey: payload.alert.localizationKey,
            bodyArguments: payload.alert.localizationArgs, title: payload.title.text,
            titleKey: payload.title.localizationKey, titleArguments: payload.title.localizationArgs,
            subtitle: payload.subtitle.text, subtitleKey: payload.subtitle.localizationKey,
            subtitleArguments: payload.subtitle.localizationArgs, actionKey: payload.alertActionLocalizationKey,
            launchImage: payload.alertLaunchImage)
        badge = payload.badge
        soundName = payload.soundName
        category = payload.category
        notificationID = payload.notificationID.map { CKNotification.ID(uuidString: $0) }
        containerIdentifier = payload.containerIdentifier
        ownerRecordName = payload.userRecordName
        isPruned = payload.isPruned
        subscriptionID = payload.subscriptionID
        let scope = CKDatabase.Scope(payload.databaseScope)
        self.scope = scope
        zoneID = payload.zoneID.map { zoneID in
            var zoneID = zoneID
            // Except in the shared database, every zone belongs to the current user.
            if scope != .shared { zoneID.ownerRecordName = nil }
            return CKRecordZone.ID(wire: zoneID)
        }
        switch payload.kind {
        case .query(let name, let reason, let fields):
            subject = .query
            recordName = name
            self.reason = reason.flatMap { CKQueryNotification.Reason(rawValue: $0.rawValue) }
            let context = WireContext(zoneID: zoneID ?? .default, currentUserRecordName: nil)
            recordFields =
                fields.isEmpty ? nil : fields.mapValues { RecordValue(wire: $0, in: context).object }
        case .zone: subject = .recordZone
        case .database: subject = .database
        }
    }
}

extension CKDatabase.Scope {
    fileprivate init(_ scope: NotificationPayload.DatabaseScope) {
        switch scope {
        case .public: self = .public
        case .private: self = .private
        case .shared: self = .shared
        }
    }
}
