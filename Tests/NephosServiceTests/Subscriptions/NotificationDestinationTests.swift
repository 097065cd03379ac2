import NephosService
import Testing

@Suite struct NotificationDestinationTests {
    let device = NotificationDestination.device(
        DeviceToken(bytes: [0x00, 0x0A, 0xFF] + [UInt8](repeating: 0x21, count: 5), environment: .production))

    @Test func `the log contains neither a whole token nor a web hook's path`() {
        let hook = NotificationDestination.webHook(WebHookDestination(url: "https://example.org:8443/T0/secret?key=a"))
        #expect("\(hook)" == "the web hook at https://example.org:8443")
        #expect("\(device)" == "the production device …21212121")
        let bare = NotificationDestination.webHook(WebHookDestination(url: "http://example.org?key=a"))
        #expect(!"\(bare)".contains("key"))
    }

    @Test func `the key distinguishes destinations`() {
        #expect(device.key == "apns:production::000aff2121212121")
        var other = DeviceToken(bytes: [1], environment: .development)
        let first = NotificationDestination.device(other).key
        other.topic = "org.example.App"
        #expect(NotificationDestination.device(other).key != first)
    }
}
