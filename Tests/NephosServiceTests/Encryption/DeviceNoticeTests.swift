import NephosCrypto
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// What an account is told of the devices that get its keys.
@Suite struct DeviceNoticeTests {
    private final class Notices: Sendable {
        let all = Mutex<[DeviceNotice]>([])
    }

    @Test func `the first device, an approved one and a recovered one are told, and no other entry`() async throws {
        let notices = Notices()
        var configuration = ServiceConfiguration()
        configuration.noteDevice = { notice in notices.all.withLock { $0.append(notice) } }
        let database = TestDatabase(TestCloud(configuration))
        let place = try await database.keyPlace()
        let (first, second, third) = (ListedDevice(1), ListedDevice(2), ListedDevice(3))
        let recovery = ListedDevice(4)
        var list = DeviceList()
        func enroll(_ entry: [UInt8]) async throws {
            let position = list.count
            _ = try await database.cloud.service.enroll(
                EnrollRequest(position: position, entry: entry), database.context)
            let isAppended = list.append(entry, in: place)
            #expect(isAppended)
        }
        let begin = first.entry(.add, first, after: list, in: place)
        try await enroll(begin)
        // The same request again appends nothing.
        _ = try await database.cloud.service.enroll(EnrollRequest(position: 0, entry: begin), database.context)
        try await enroll(first.entry(.recovery, recovery, after: list, in: place))
        try await enroll(first.entry(.add, second, after: list, in: place))
        try await enroll(recovery.entry(.add, third, after: list, in: place))
        #expect(notices.all.withLock { $0.map(\.event) } == [.first, .approved, .recovered])
        #expect(notices.all.withLock { $0.allSatisfy { $0.account == "me" && $0.container == "iCloud.test" } })
    }

    @Test func `a notice is mailed to verified addresses, five times an hour at most`() async throws {
        let test = try await TestInstallation(people: TestInstallation.people())
        for name in ["ada@example.org", "eve@example.org"] {
            _ = try await test.installation.createAccount(
                named: name, password: nil, isVerified: name.hasPrefix("ada"), by: TestInstallation.root)
        }
        let mails = Mutex<[MailMessage]>([])
        let outlet = MailOutlet { mail async throws(MailFailure) in mails.withLock { $0.append(mail) } }
        for name in ["eve@example.org", "ada@example.org"] {
            let account = try await test.installation.accountID(named: name)
            for event in [DeviceNotice.Event.first, .approved, .recovered, .approved, .approved, .approved] {
                await test.installation.noteDevice(
                    DeviceNotice(event: event, account: account, container: "iCloud.test"))
            }
        }
        while try await test.installation.sendDueMails(to: outlet) > 0 {}
        let sent = mails.withLock(\.self)
        #expect(sent.map(\.to.text) == Array(repeating: "ada@example.org", count: 5))
        #expect(sent.allSatisfy { $0.body.contains("iCloud.test") && $0.body.contains("/account") })
        #expect(sent.count { $0.subject.contains("first device") } == 1)
        #expect(sent.count { $0.subject.contains("recovery key was used") } == 1)
        await test.installation.close()
    }
}
