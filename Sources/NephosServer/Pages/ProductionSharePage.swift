import NephosService
import NephosWire

/// The page at the URL of a share on a production server. Who is signed in sees what is shared, and accepts it; everybody
/// else is led to the sign-in by a link, so that no redirect carries the key in the address's fragment along.
struct ProductionSharePage {
    /// Whether a path is that of a share's page.
    static func isPath(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[1] == ShareRoutes.module else { return false }
        return (1...200).contains(parts[2].utf8.count) && parts[2].utf8.allSatisfy(OwnPage.isURLSafe)
    }

    private let page: OwnPage
    private let guid: String
    private let path: String

    init(_ routed: RoutedRequest, _ installation: Installation, guid: String) {
        self.guid = guid
        path = "/\(ShareRoutes.module)/\(guid)"
        page = OwnPage(routed, installation, name: path)
    }

    func answer() async throws(Refusal) -> HTTPResponse {
        guard Self.isPath(path) else { return show(SharePageText.unknown, status: 404) }
        guard let session = try await page.session() else {
            // The same for every address: who has no account learns nothing about it.
            return show(
                "<h1>Shared with you</h1><p><a href=\"\(SignInPage.address(returningTo: path))\">Sign in</a> to see it, or "
                    + "open this page's address in the app.</p>")
        }
        let (service, requestID) = (page.routed.service, page.routed.requestID)
        do throws(ServiceError) {
            if page.routed.request.method == .post {
                let token: String
                do throws(Refusal) { token = try page.form().field("token") } catch {
                    return show(SharePageText.refused, status: 403)
                }
                let isAccepted = try await service.acceptShare(
                    guid, account: session.account, address: session.address, token: token, requestID: requestID)
                return isAccepted ? show(SharePageText.accepted) : show(SharePageText.refused, status: 403)
            }
            guard
                let share = try await service.sharePage(
                    guid, account: session.account, address: session.address, requestID: requestID)
            else { return show(SharePageText.unknown, status: 404) }
            return show(SharePageText.share(share, fields: page.formField))
        } catch {
            throw Refusal(error)
        }
    }

    private func show(_ content: String, status: Int = 200) -> HTTPResponse {
        page.page("Shared with you", content, status: status)
    }
}
