import Foundation
import Testing

/// `nephos login`, with a browser in which a person approves it.
@Suite struct LoginTests {
    /// Sends a form of a page, and returns the answer.
    private func post(
        _ target: String, _ fields: String, cookies: inout [String: String], _ served: ServedInstallation
    ) async throws -> TestResponse {
        let page = try await send("GET", target, "", &cookies, served)
        let form = page.text.firstMatch(of: /name="form" value="([0-9a-f]{64})"/)?.1 ?? ""
        return try await send("POST", target, "form=\(form)&\(fields)", &cookies, served)
    }

    private func send(
        _ method: String, _ target: String, _ body: String, _ cookies: inout [String: String],
        _ served: ServedInstallation
    ) async throws -> TestResponse {
        let cookie = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        let answer = try await TestConnection(port: served.port).request(
            method, target,
            headers: ["Host": "127.0.0.1:\(served.port)", "Cookie": cookie, "Origin": served.url], body: body)
        // Of several the last: that of the session.
        if let cookie = answer.headers["set-cookie"] {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = String(pair.last ?? "")
        }
        return answer
    }

    @Test func `a person signs a machine in to a container and to the administration, and out`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            try await served.output("admins", "grant", "ada@example.org")
            try await served.save("note", apiToken: apiToken, token: try await served.signIn("ada@example.org"))
            let variables = [
                "NEPHOS_CREDENTIALS": directory.appendingPathComponent("credentials").path, "NEPHOS_URL": served.url,
            ]
            var cookies: [String: String] = [:]
            _ = try await post(
                "/sign-in?return=/login", "account=ada@example.org&password=nine+lives+of+a+grey+cat",
                cookies: &cookies, served)
            for arguments in [["--api-token", apiToken], []] {
                let login = try StartedNephos(["login"] + arguments, environment: variables)
                let line = try await login.readyLine()
                let code = try #require(line.firstMatch(of: /code ([A-Z]{4}-[A-Z]{4})/), "\(line)").1
                let approved = try await post("/login", "code=\(code)&action=approve", cookies: &cookies, served)
                #expect(approved.status == 200, "\(approved.text)")
                let finished = try await login.finish()
                #expect(finished.status == 0 && finished.output.contains("as ada@example.org"), "\(finished)")
            }
            let found = try await StartedNephos(["query", "Note"], environment: variables).finish()
            #expect(found.status == 0 && found.output.contains("note"), "\(found)")
            let listed = try await StartedNephos(
                ["containers", "list", "--url", served.url], environment: variables
            ).finish()
            #expect(listed.status == 0 && listed.output.contains(ServedInstallation.container), "\(listed)")
            let out = try await StartedNephos(["logout"], environment: variables).finish()
            #expect(out.status == 0 && out.output.contains("signed out"), "\(out)")
            #expect(try await served.output("sessions", "list", "ada@example.org").split(separator: "\n").count == 2)
            let again = try await StartedNephos(["logout"], environment: variables).finish()
            #expect(again.output.hasPrefix("not signed in"))
            try await served.stop()
        }
    }

    @Test func `the credentials of a server that is gone stay until they are forgotten`() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("credentials")
            let credential = """
                [{"server":"http://127.0.0.1:1","token":"a","account":"ada","expires":0,"apiToken":"b",
                  "container":"iCloud.a","environment":"development"}]
                """
            try Data(credential.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            let variables = ["NEPHOS_CREDENTIALS": file.path, "NEPHOS_URL": "http://127.0.0.1:1"]
            let failed = try await StartedNephos(["logout"], environment: variables).finish()
            #expect(failed.status == 1 && failed.errors.contains("'--forget'"), "\(failed)")
            #expect(try String(contentsOf: file, encoding: .utf8) == credential)
            let forgotten = try await StartedNephos(["logout", "--forget"], environment: variables).finish()
            #expect(forgotten.status == 0 && forgotten.errors.contains("until it expires"), "\(forgotten)")
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("ada"))
        }
    }
}
