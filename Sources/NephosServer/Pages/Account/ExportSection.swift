import NephosService

/// The download of the account's records.
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
                HTTPHeader("Content-Type", "application/jsonl"),
                HTTPHeader("Content-Disposition", "attachment; filename=\"records.jsonl\""),
                HTTPHeader("Cache-Control", "no-store"),
            ])
        response.stream = ResponseStream(ExportBody(export), offset: 0, length: nil)
        response.account = session.account
        return .response(response)
    }

    func content() async throws(ServiceError) -> String {
        """
        <h2>Export</h2><p>Your records of all apps, one to a line, as <code>nephos import</code> reads them. Encrypted \
        values, files and shares are left out: <code>nephos export</code> takes files, too.</p>
        \(button("export", "Download"))
        """
    }
}

/// The body of an export. It is read in order, a piece at a time.
private final class ExportBody: StreamedBody {
    private let export: AccountExport

    init(_ export: AccountExport) { self.export = export }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? { nil }

    func read(
        _ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
    ) {
        Task {
            do throws(ServiceError) {
                completion(.success(try await export.next() ?? []))
            } catch {
                completion(.failure(error))
            }
        }
    }
}
