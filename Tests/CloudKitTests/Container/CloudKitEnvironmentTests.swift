import CloudKit
import CloudKitLocal
import Testing

@Suite struct CloudKitEnvironmentTests {
    @Test func `without variables the local service is used as the operating system's user`() throws {
        let environment = try CloudKitEnvironment(variables: [:])
        #expect(environment.url.absoluteString == "http://127.0.0.1:8484")
        #expect(environment.account == .token("dev:" + NSUserName()))
        #expect(environment.name == .development)
        #expect(environment.defaultContainerIdentifier.hasPrefix("iCloud."))
    }

    @Test func `variables set the service's address and the account`() throws {
        let environment = try CloudKitEnvironment(variables: [
            "NEPHOS_URL": "https://cloud.example.org/base", "NEPHOS_TOKEN": "dev:mei",
            "NEPHOS_CONTAINER": "iCloud.org.example.Gallery", "NEPHOS_ENVIRONMENT": "production",
            "NEPHOS_API_TOKEN": "abc",
        ])
        #expect(environment.url.absoluteString == "https://cloud.example.org/base")
        #expect(environment.account == .token("dev:mei"))
        #expect(environment.defaultContainerIdentifier == "iCloud.org.example.Gallery")
        #expect(environment.name == .production)
        #expect(environment.apiToken == "abc")
        #expect(try CloudKitEnvironment(variables: ["NEPHOS_TOKEN": "none"]).account == .none)
        #expect(environment.sealsAssets)
        #expect(try !CloudKitEnvironment(variables: ["NEPHOS_SEAL_ASSETS": "no"]).sealsAssets)
    }

    @Test(arguments: [
        ("NEPHOS_URL", "127.0.0.1:8484"), ("NEPHOS_URL", ""), ("NEPHOS_URL", "ftp://example.org"),
        ("NEPHOS_URL", "http://"), ("NEPHOS_URL", "http://example.org?x=1"), ("NEPHOS_TOKEN", ""),
        ("NEPHOS_TOKEN", "se cret"), ("NEPHOS_TOKEN", "secret\nX: y"), ("NEPHOS_TOKEN", "sécret"),
        ("NEPHOS_CONTAINER", ""), ("NEPHOS_CONTAINER", "iCloud/x"), ("NEPHOS_ENVIRONMENT", "staging"),
        ("NEPHOS_SEAL_ASSETS", "false"),
    ])
    func `an invalid variable is refused by its name`(name: String, value: String) throws {
        let error = try #require(throws: CloudKitEnvironment.Invalid.self) {
            _ = try CloudKitEnvironment(variables: [name: value])
        }
        #expect(error.description.hasPrefix(name))
        #expect(error.localizedDescription == error.description)
        #expect(!error.description.contains("cret"))
    }

    @Test func `an unreachable service is a network failure with a remedy`() async throws {
        // Port 1 is reserved, and nothing listens on it.
        let directory = ServiceDirectory()
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        directory.setEnvironment(CloudKitEnvironment(url: url))
        let container = directory.container("iCloud.org.example.Gallery")
        let error = await expectFailure(.networkFailure) {
            _ = try await container.privateCloudDatabase.allRecordZones()
        }
        #expect(error?.localizedDescription.contains("http://127.0.0.1:1") == true)
        #expect(error?.localizedDescription.contains("`make run` in a checkout of Nephos") == true)
    }
}

/// The process-wide default, which tests may only change one after another.
@Suite(.serialized) struct DefaultContainerTests {
    @Test func `unchanged code uses a local cloud that became the default`() async throws {
        let cloud = try LocalCloud()
        let before = CKContainer.default()
        #expect(before === CKContainer.default())
        cloud.becomeDefault(account: "mei")
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        try await CKContainer.default().privateCloudDatabase.save(record)
        #expect(CKContainer.default() !== before)
        #expect(CKContainer.default() === CKContainer.default())
        let identifier = try #require(CKContainer.default().containerIdentifier)
        let same = cloud.container(identifier, account: "mei").privateCloudDatabase
        #expect(try await same.record(for: record.recordID).recordID == record.recordID)
        cloud.becomeDefault(account: "tom")
        await expectFailure(.unknownItem) {
            _ = try await CKContainer(identifier: identifier).privateCloudDatabase.record(for: record.recordID)
        }
        cloud.becomeDefault(account: nil)
        #expect(try await CKContainer.default().accountStatus() == .noAccount)
        await cloud.close()
        // What was meant before is meant again: the service that the process's environment names.
        #expect(CKContainer.default().containerIdentifier == identifier)
    }

    @Test func `existing containers continue as the account that is switched to`() async throws {
        let cloud = try LocalCloud()
        cloud.switchDefaultAccount(to: "mei")
        let container = CKContainer.default()
        let mei = try await container.userRecordID()
        let record = CKRecord(recordType: "Artwork")
        try await container.privateCloudDatabase.save(record)
        cloud.switchDefaultAccount(to: "tom")
        #expect(container === CKContainer.default())
        #expect(try await container.userRecordID() != mei)
        await expectFailure(.unknownItem) {
            _ = try await container.privateCloudDatabase.record(for: record.recordID)
        }
        cloud.switchDefaultAccount(to: nil)
        #expect(try await container.accountStatus() == .noAccount)
        cloud.switchDefaultAccount(to: "mei")
        #expect(try await container.userRecordID() == mei)
        // Another default does not change whom they mean.
        cloud.becomeDefault(account: "tom")
        #expect(try await container.userRecordID() == mei)
        await cloud.close()
    }

    @Test(arguments: [Notification.Name.CKAccountChanged, .NSUbiquityIdentityDidChange])
    func `a change of the account is announced`(name: Notification.Name) async throws {
        let cloud = try LocalCloud()
        await confirmation(expectedCount: 2) { announced in
            let observer = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
                announced()
            }
            cloud.becomeDefault()
            cloud.resignDefault()
            NotificationCenter.default.removeObserver(observer)
        }
    }

    @Test func `the identity token differs between accounts, and is nil without one`() async throws {
        let cloud = try LocalCloud()
        var tokens: [NSObject?] = []
        for account in ["mei", "tom", nil, "mei"] {
            cloud.switchDefaultAccount(to: account)
            tokens.append(FileManager.default.ubiquityIdentityToken as? NSObject)
        }
        #expect(tokens[2] == nil && tokens[0] != nil && tokens[0] == tokens[3] && tokens[0] != tokens[1])
        await cloud.close()
        // The account of an environment that says nothing of it.
        #expect(FileManager.default.ubiquityIdentityToken != nil)
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: try #require(tokens[0]), requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSData.self, from: archive) == tokens[0])
    }
}
