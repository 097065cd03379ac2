import NephosService
import NephosWire
import Testing

@testable import NephosServer

@Suite struct ErrorResponseTests {
    /// The archived table of CloudKit Web Services.
    private static let statuses: [String: Int] = [
        "ACCESS_DENIED": 403, "ATOMIC_ERROR": 400, "AUTHENTICATION_FAILED": 401, "AUTHENTICATION_REQUIRED": 421,
        "BAD_REQUEST": 400, "CONFLICT": 409, "EXISTS": 409, "INTERNAL_ERROR": 500, "NOT_FOUND": 404,
        "QUOTA_EXCEEDED": 413, "THROTTLED": 429, "TRY_AGAIN_LATER": 503, "VALIDATING_REFERENCE_ERROR": 412,
        "ZONE_NOT_FOUND": 404,
    ]

    @Test func `every code has Apple's status and every status a code`() {
        let ours = Dictionary(uniqueKeysWithValues: ServerErrorCode.allCases.map { ($0.rawValue, $0.httpStatus) })
        #expect(ours == Self.statuses)
    }

    @Test(arguments: ServerErrorCode.allCases)
    func `a refusal decodes to the error it was`(_ code: ServerErrorCode) throws {
        let error = ServiceError(code, .invalidArguments, "why \"so\"", retryAfter: 2.5)
        let response = Refusal(error).response(requestID: "the-request", signIn: "http://localhost/sign-in")
        #expect(response.status == code.httpStatus)
        let dictionary = try ErrorDictionary(decoding: response.body)
        #expect(
            dictionary
                == ErrorDictionary(
                    uuid: "the-request", serverErrorCode: code, reason: "why \"so\"", retryAfter: 2.5,
                    redirectURL: code == .authenticationRequired ? "http://localhost/sign-in" : nil,
                    clientErrorCode: ServiceError.ClientCode.invalidArguments.rawValue))
    }

    @Test func `a decoding error says where`() throws {
        let refusal = Refusal(WireError(path: "records[3].recordName", reason: "expected a string"))
        let response = refusal.response(requestID: "id", signIn: nil)
        let dictionary = try ErrorDictionary(decoding: response.body)
        #expect(response.status == 400)
        #expect(dictionary.serverErrorCode == .badRequest)
        #expect(
            dictionary.reason
                == "BadRequestException: Unexpected input: records[3].recordName: expected a string")
        #expect(dictionary.clientErrorCode == 12)
    }

    @Test func `a body that is too large has its own status`() throws {
        let response = Refusal.bodyTooLarge(limit: 5).response(requestID: "id", signIn: nil)
        let dictionary = try ErrorDictionary(decoding: response.body)
        #expect(response.status == 413)
        #expect(dictionary.serverErrorCode == .badRequest)
        #expect(dictionary.clientErrorCode == 27)
    }
}
