import NephosService

/// What apps have of the account: the devices with its keys, and its shares, by container and environment.
struct PlacesSection: AccountSection {
    static let actions: Set = ["stop-sharing", "leave-share"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let share = AccountPlace.Share(
            isOwn: action == "stop-sharing", zoneName: form.field("zone"), owner: form.field("owner"),
            recordName: form.field("share"))
        try await page.routed.service.endShare(
            share, container: form.field("container"), environment: form.field("environment"),
            account: session.account, address: session.address, requestID: page.routed.requestID)
        return .done
    }

    func content() async throws(ServiceError) -> String {
        let after = (page.routed.target.parameter("after")?.readings.first).flatMap { Int($0) } ?? 0
        let (places, next) = try await page.routed.service.places(of: session.account, after: after)
        if places.isEmpty, next == nil, after == 0 { return "" }
        let more = next.map { "<p><a href=\"\(AccountPage.path)?after=\($0)\">Further containers</a></p>" }
        return "<h2>Apps</h2>\(places.map(text).joined())\(more ?? "")"
    }

    private func text(_ place: AccountPlace) -> String {
        let shares = place.shares.map { row($0, place) }.joined()
        let more = place.hasMoreShares ? "<p>There are more shares: the app lists them.</p>" : ""
        return """
            <h3>\(OwnPage.escaped(place.container)), \(OwnPage.escaped(place.environment))</h3>\(devices(place))\
            \(shares.isEmpty ? "" : "<p>What you share, or is shared with you:</p><ul>\(shares)</ul>\(more)")
            """
    }

    private var baseURL: String { page.routed.access.baseURL(page.routed.request) }

    private func devices(_ place: AccountPlace) -> String {
        guard !place.devices.isEmpty else {
            return "<p>No device has made keys: encrypted values need an app on a device.</p>"
        }
        let list = place.devices.map { "<li><code>\(OwnPage.escaped($0))</code></li>" }.joined()
        let recovery =
            place.lacksRecoveryKey
            ? """
            <p role="alert"><strong>There is no recovery key</strong>: if your devices are lost, so are your encrypted \
            values. Make one in the app, or on a device that runs commands: <code>nephos keys recovery --url \
            \(OwnPage.escaped(baseURL)) --container \(OwnPage.escaped(place.container)) --environment \
            \(OwnPage.escaped(place.environment))</code>. Write it down, and keep it apart from the devices.</p>
            """ : ""
        return """
            <p>Devices with the keys of your encrypted values:</p><ul>\(list)</ul>\(recovery)
            <p>Another of these devices removes one: <code>nephos keys revoke NAME</code>.</p>
            """
    }

    private func row(_ share: AccountPlace.Share, _ place: AccountPlace) -> String {
        let fields =
            hidden("container", place.container) + hidden("environment", place.environment)
            + hidden("zone", share.zoneName) + hidden("owner", share.owner) + hidden("share", share.recordName)
        let title = OwnPage.shown(share.title ?? "Untitled")
        if share.isOwn {
            let count = share.participants == 1 ? "1 participant" : "\(share.participants) participants"
            return """
                <li>\(title), yours, \(count) <details><summary>Stop sharing</summary>Its participants lose it. \
                \(button("stop-sharing", "Stop sharing", fields))</details></li>
                """
        }
        return """
            <li>\(title), shared with you <details><summary>Leave</summary>You lose it until you open its URL again. \
            \(button("leave-share", "Leave", fields))</details></li>
            """
    }
}
