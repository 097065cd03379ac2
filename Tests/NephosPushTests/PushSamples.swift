import Foundation
import NephosPush
import NephosService

let alert = #"{"aps":{"alert":{"body":"New artwork"},"sound":"default"},"ck":{"cid":"iCloud.org.example.App"}}"#
let silent = #"{"aps":{"content-available":1},"ck":{"cid":"iCloud.org.example.App"}}"#

func notification(
    _ payload: String = alert, id: String = "3D1C5C2E-7A0F-4C2B-9A54-0A2F1A0E5A10", collapseID: String? = nil,
    isSilent: Bool = false, createdAt: Int64 = systemNow()
) -> OutgoingNotification {
    OutgoingNotification(
        id: id, container: "iCloud.org.example.App", environment: "development", account: "_0123",
        subscriptionID: "sub-1", payload: Array(payload.utf8), collapseID: collapseID, isSilent: isSilent,
        createdAt: createdAt)
}

/// Milliseconds since 1970: the stand-ins compare times with the system's clock.
@Sendable func systemNow() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

let device = NotificationDestination.device(
    DeviceToken(bytes: [0x00, 0xAB, 0xFF, 0x10] + [UInt8](repeating: 7, count: 28), environment: .development))

/// Private keys that were made for these tests.
enum SampleKeys {
    static let p256 = pem(
        """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf8f9DrAkJmcQn/HP
        WwkDMuI9a5cTIYvZgq84MuXToEShRANCAAQ1fsF0rxfAVB2so+cWucm6nXOl3eyh
        sD2Z4ys5xThtj/727TBwB0VUYlZoc/kcfaeuVB/wD22mdE7nirqTunZ2
        """)
    static let p384 = pem(
        """
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDLxcin7QYWJYrNRb03
        6veoGFUPAynPPasdPvOaZFWMw9tBkc9gcy8nEctfGk7s42WhZANiAATDbUFdAzIG
        CH69HIjPfF7li4hXMisX3BxrZv5HQ2SIBSTUHp/u1BUrpqgMqHhCnhAFLcobDYWh
        QiPmmS7yFLP4R/vEpl6khxrm344xHSK6rgRSvQ/nnw+ZYplnrLUA4B4=
        """)
    static let ed25519 = pem("MC4CAQAwBQYDK2VwBCIEIFygRrZ9qOlltYK3zESQZvpq+om7zfSaHVHWnY5NDIde")

    private static func pem(_ base64: String) -> String {
        "-----BEGIN PRIVATE KEY-----\n\(base64)\n-----END PRIVATE KEY-----\n"
    }
}

func withTemporaryDirectory<T>(_ body: (URL) async throws -> T) async throws -> T {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}
