import NephosService
import NephosThreads
import NephosWire

extension RoutedRequest {
    /// Decodes the body. Of large ones an account has one decoded at a time, and all have two: lists of small numbers take 25
    /// times their JSON until they are refused.
    /// - Parameter account: the account that sends it; nil without one.
    func decodedBody<Decoded: Sendable>(
        of account: String?, _ decode: @escaping @Sendable ([UInt8]) throws(WireError) -> Decoded
    ) async throws(Refusal) -> Decoded {
        let body = request.body
        guard body.count > Limits.largeBody else {
            do throws(WireError) { return try decode(body) } catch { throw Refusal(error) }
        }
        let holder = account.map(LargeBodies.Holder.account) ?? .address(request.client)
        guard await LargeBodies.turns.begin(holder) else { throw Refusal(ServiceError.tooManyLargeBodies) }
        defer { LargeBodies.turns.end(holder) }
        do throws(WireError) {
            return try await LargeBodies.run { () throws(WireError) in try decode(body) }
        } catch {
            throw Refusal(error)
        }
    }
}

private enum LargeBodies {
    enum Holder: Hashable {
        case account(String)
        case address([UInt8])
    }

    static let turns = Turns<Holder>(limit: Limits.waitingLargeBodies)
    private static let threads = BlockingPool("large bodies", BlockingPool.Options(threads: 2))

    static func run<Decoded: Sendable>(
        _ decode: @escaping @Sendable () throws(WireError) -> Decoded
    ) async throws(WireError) -> Decoded {
        do {
            return try await threads.run(decode)
        } catch let error as WireError {
            throw error
        } catch {
            throw WireError(reason: "the body cannot be decoded now: \(error)")
        }
    }
}
