import NephosStorage
import NephosWire

/// The rules of valid subscriptions (`CKSubscription` and its subclasses, Apple's documentation; CloudKit Web Services,
/// Subscription Dictionary).
///
/// - Query subscriptions exist in the public and the private database, zone subscriptions in the private database, and
///   database subscriptions in the private and the shared database.
/// - A query subscription needs an existing record type, a condition that a query allows, and a trigger to fire on.
/// - A notification of a query subscription includes at most three fields, those of the others none; each of its localized
///   texts has a bounded number of arguments.
enum SubscriptionRules {
    static func check(_ subscription: SubscriptionDictionary, scope: DatabaseScope) throws(ServiceError) {
        if let id = subscription.subscriptionID { try checkID(id) }
        try checkType(subscription, scope)
        switch subscription.subscriptionType {
        case .query: try checkQuery(subscription)
        case .zone:
            guard subscription.zoneID != nil else {
                throw .invalid("a subscription of type 'zone' needs a zoneID")
            }
        case .database: break
        }
        let fields = subscription.notificationInfo?.additionalFields ?? []
        if !fields.isEmpty, subscription.subscriptionType != .query {
            throw .invalid("cannot add additionalFields to this subscription type")
        }
        if fields.count > Limits.notificationFields {
            throw .invalid(
                "additionalFields names \(fields.count) fields; a notification sends at most"
                    + " \(Limits.notificationFields) along")
        }
        let arguments = subscription.notificationInfo?.argumentLists.map(\.count).max() ?? 0
        if arguments > Limits.notificationArguments {
            throw .invalid(
                "a localized text of the notification has \(arguments) arguments; at most"
                    + " \(Limits.notificationArguments) are allowed")
        }
    }

    static func checkID(_ id: String) throws(ServiceError) {
        if id.isEmpty { throw .invalid("subscriptionID must not be empty") }
        if !id.isStorable { throw .invalid("subscriptionID must not hold a NUL") }
        guard id.utf8.count <= Limits.subscriptionIDLength else {
            throw .invalid("subscriptionID must not exceed \(Limits.subscriptionIDLength) bytes")
        }
    }

    private static func checkType(
        _ subscription: SubscriptionDictionary, _ scope: DatabaseScope
    ) throws(ServiceError) {
        let type = subscription.subscriptionType
        let isAllowed =
            switch type {
            case .query: scope != .shared
            case .zone: scope == .private
            case .database: scope != .public
            }
        guard isAllowed else {
            throw .badDatabase(
                "subscriptions of type '\(type.rawValue)' are not supported in the \(scope.rawValue) database")
        }
    }

    private static func checkQuery(_ subscription: SubscriptionDictionary) throws(ServiceError) {
        guard let query = subscription.query, !query.recordType.isEmpty else {
            throw .invalid("a subscription of type 'query' needs a query with a recordType")
        }
        if subscription.firesOn.isEmpty {
            throw .invalid("firesOn must name at least one of create, update and delete")
        }
        if subscription.zoneWide, subscription.zoneID != nil {
            throw .invalid("a subscription is either zoneWide or has a zoneID")
        }
    }

    /// Decodes the subscription of a row.
    static func dictionary(_ row: SubscriptionRow) throws -> SubscriptionDictionary {
        do throws(WireError) {
            return try SubscriptionDictionary(decoding: row.body)
        } catch {
            throw StorageError(.damaged, "subscription \(row.id) of account \(row.account): \(error.description)")
        }
    }
}

extension ServiceError {
    static let subscriptionNotFound = ServiceError(.notFound, .unknownItem, "Subscription not found")
    /// The error for a subscription that exists under another ID. Clients recognise it by this reason (CloudKit Web
    /// Services, subscriptions/modify).
    static func duplicateSubscription(of id: String) -> ServiceError {
        var error = ServiceError(
            .internalError, .serverRejectedRequest, "could not find subscription we just created")
        error.duplicateOf = id
        return error
    }
}
