import NephosService
import Synchronization

/// The download of the account's content.
struct ExportSection: AccountSection {
    static let actions: Set = ["export"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let export = try await page.routed.service.export(of: session.account) {
            [installation = page.installation, id = session.id] in await !installation.isOver(id)
        }
        var response = HTTPResponse(
            status: 200,
            headers: [
                HTTPHeader("Content-Type", "application/x-tar"),
                HTTPHeader("Content-Disposition", "attachment; filename=\"export.tar\""),
                HTTPHeader("Cache-Control", "no-store"),
            ])
        response.stream = ResponseStream(ExportBody(export), offset: 0, length: nil)
        response.account = session.account
        return .response(response)
    }

    func content() async throws(ServiceError) -> String {
        """
        <h2>Export</h2><p>Your records and files of all apps, in an archive (tar), in a folder for each app. What is \
        encrypted is in it as it is stored: your devices alone can decrypt it. Shares are left out.</p>
        \(button("export", "Download"))
        """
    }
}

/// The body of an export, a tar archive. It is read in order, a piece at a time.
private final class ExportBody: StreamedBody {
    private let export: AccountExport
    private let isEnded = Atomic(false)

    init(_ export: AccountExport) { self.export = export }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? { nil }

    func read(
        _ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
    ) {
        Task {
            do throws(ServiceError) {
                completion(.success(try await next()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func next() async throws(ServiceError) -> [UInt8] {
        if let piece = try await export.next() { return TarArchive.encode(piece, time: export.begun) }
        return isEnded.exchange(true, ordering: .relaxed) ? [] : TarArchive.end
    }
}
