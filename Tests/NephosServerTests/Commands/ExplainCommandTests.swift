import Testing

/// `nephos explain`: what the documentation says of a code or of a message.
@Suite struct ExplainCommandTests {
    private func explain(_ words: String...) async throws -> Finished {
        try await StartedNephos(["explain"] + words).finish()
    }

    @Test(arguments: [
        "serverRecordChanged", "CKError.serverRecordChanged", "14", "2004", "EXISTS", "conflict",
        "CKErrorServerRecordChanged", "Server Record Changed", #"Error Domain=CKErrorDomain Code=14 "oplock""#,
    ])
    func `a code is named by its name, its number or the Web Services' name`(_ asked: String) async throws {
        let finished = try await explain(asked)
        #expect(finished.status == 0 && finished.output.hasPrefix("serverRecordChanged, 14, "), "\(finished)")
        #expect(finished.output.contains("- Remedy: merge the change into the error's `serverRecord`"))
    }

    @Test func `a code of the Web Services explains all codes that it stands for`() async throws {
        let finished = try await explain("ZONE_NOT_FOUND")
        #expect(finished.output.contains("zoneNotFound, 26") && finished.output.contains("userDeletedZone, 28"))
    }

    @Test(arguments: [
        (
            "Field 'stars' is not marked sortable: add SORTABLE to the field 'stars' of 'Task' in the schema",
            "look for a prefix in a field that is not SORTABLE"
        ),
        (
            #"<CKError 0x7f: "Server Record Changed" (14/2004); server message = "client oplock error updating record">"#,
            "save a record that another device changed"
        ),
        (
            #"{"uuid":"a","serverErrorCode":"BAD_REQUEST","reason":"cannot get changes in default zone"}"#,
            "fetch changes of the default zone"
        ),
        ("record 'x' has a reference to 'y', which does not exist", "refer with `.deleteSelf` to a record"),
    ])
    func `a message is found whatever the names in it`(_ message: String, _ situation: String) async throws {
        let finished = try await explain(message)
        #expect(finished.status == 0 && finished.output.contains("when: \(situation)"), "\(finished)")
        #expect(finished.output.contains("- Causes: "))
    }

    @Test(arguments: [
        "The operation couldn’t be completed. (CKErrorDomain error 11.)", "CKErrorDomain error 11.", "11/2003", "11",
        "Error Domain=CKErrorDomain Code=11 \"Record not found\"",
    ])
    func `the number of a code is found in what apps log`(text: String) async throws {
        let finished = try await explain(text)
        #expect(finished.status == 0 && finished.output.contains("unknownItem"), "\(finished)")
    }

    @Test(arguments: [
        ("save failed: zoneBusy", "zoneBusy"), ("Optional(CloudKit.CKError.Code.userDeletedZone)", "userDeletedZone"),
        (#"{"uuid":"a","serverErrorCode":"QUOTA_EXCEEDED","reason":"x"}"#, "quotaExceeded"),
        ("serverErrorCode: CONFLICT", "serverRecordChanged"), ("ckErrorCode=CONFLICT", "serverRecordChanged"),
        ("CKErrorDomain:23", "zoneBusy"), ("CKErrorDomain, code 23", "zoneBusy"), ("CKError code 23", "zoneBusy"),
        ("CKError.Code(rawValue: 23)", "zoneBusy"),
        ("CKErrorDomain at 10:14. Error Domain=CKErrorDomain Code=23", "zoneBusy"),
        ("CKErrorDomain error -1, CKErrorDomain error 23", "zoneBusy"),
        ("(CKErrorDomain-Fehler 23.)", "zoneBusy"), ("(CKErrorDomain erreur 23.)", "zoneBusy"),
        ("CKErrorDomainエラー23", "zoneBusy"), ("CKErrorDomain error code 23", "zoneBusy"),
        ("CKErrorDomain #3 code=23", "zoneBusy"), ("CKErrorDomain v2 error 23", "zoneBusy"),
        ("CKErrorDomain after 3 attempts, code 23", "zoneBusy"),
        ("CKErrorDomain, 3 retries left; zoneBusy", "zoneBusy"),
        ("CKErrorDomain: 12% done, zoneBusy", "zoneBusy"),
        ("zoneBusy: CKErrorDomain (0x1a) took 15 seconds", "zoneBusy"),
        ("domain: CKErrorDomain, rawValue: 23", "zoneBusy"), ("CKErrorDomain [pid 4] Code=23", "zoneBusy"),
        (#"Error Domain=CKInternalErrorDomain Code=1011 "Failed to modify some records""#, "partialFailure"),
    ])
    func `the code that a log or an answer names is found`(text: String, _ name: String) async throws {
        let finished = try await explain(text)
        #expect(finished.status == 0 && finished.output.contains("\(name), "), "\(finished)")
    }

    @Test func `an error of no page is a failure, and a misspelt code is suggested`() async throws {
        let unknown = try await explain("nothing", "like", "it")
        #expect(unknown.status == 1 && unknown.output.isEmpty)
        let misspelt = try await explain("zoneNotFond")
        #expect(misspelt.status == 1 && misspelt.errors.contains("Did you mean 'zoneNotFound'?"), "\(misspelt)")
        #expect(try await explain().status == 2)
    }
}
