public import CloudKit

extension Simulation {
    /// One decision of a simulation. A step that does not apply, such as the answer to a request that no app sent, does
    /// nothing, so that a failing run can be repeated with fewer steps.
    public enum Step: Hashable, Sendable {
        /// The user of a device edits; the number decides what.
        case edit(String, UInt64)
        /// The app of a device starts to sync, and stops at its first request.
        case sync(String)
        /// The device's request that waits longest reaches the service, and its answer arrives.
        case pass(String)
        /// Everything that the device does comes to its end.
        case finish(String)
        /// The device's request that waits longest fails. `quotaExceeded` fails its records, and `changeTokenExpired` expires
        /// the request's token.
        case fail(String, CKError.Code)
        /// The service commits the device's request that waits longest, and the answer gets lost.
        case lose(String)
        /// The client gets the first half of the answer to the device's request that waits longest.
        case cut(String)
        /// The app ends without a warning, and is launched again.
        case crash(String)
        /// The app ends without a warning when its sync engine is about to report an event, from 1, and is launched again.
        case crashAtEvent(String, Int)
        /// The service ends, and starts again with its data.
        case restart
        /// The service commits the device's request that waits longest, and ends before it answers and before it does
        /// what it left for later. It starts again with its data.
        case restartDuring(String)
        /// The device loses its network.
        case offline(String)
        /// The device has its network again.
        case online(String)
        /// The oldest notification that the service sent arrives on the device.
        case push(String)
        /// The oldest notification that the service sent arrives on the device, and will arrive again.
        case repeatPush(String)
        /// The notifications that the service sent to the device get lost.
        case losePush(String)
        /// The device's user signs in with an account.
        case signIn(String, account: String)
        /// The app is deleted from the device with all its data, and installed again.
        case reinstall(String)
        /// The clock advances by a number of seconds.
        case advance(Int)
        /// The service forgets deletions, so that change tokens from before them expire.
        case forgetDeletions
        /// An account's user removes the app's data in the settings.
        case purge(account: String)
        /// Every device is online, and syncs until nothing changes. Then they have to agree, and to show what their users did.
        case check

        /// The device on which it happens; nil if it happens to the service.
        var device: String? {
            switch self {
            case .edit(let device, _), .sync(let device), .pass(let device), .finish(let device), .fail(let device, _),
                .lose(let device), .cut(let device), .crash(let device), .crashAtEvent(let device, _),
                .restartDuring(let device), .offline(let device), .online(let device), .push(let device),
                .repeatPush(let device), .losePush(let device), .signIn(let device, _), .reinstall(let device):
                device
            case .restart, .advance, .forgetDeletions, .purge, .check: nil
            }
        }

        /// The account that it names; nil if it names none.
        var account: String? {
            switch self {
            case .signIn(_, let account), .purge(let account): account
            default: nil
            }
        }

        /// What happens, with its device but without its other details.
        var kind: String { String(description.prefix { $0 != "," && $0 != ")" }) }
    }
}

extension Simulation.Step: CustomStringConvertible {
    /// The step as Swift code.
    public var description: String {
        switch self {
        case .edit(let device, let seed): ".edit(\(quoted(device)), \(seed))"
        case .sync(let device): ".sync(\(quoted(device)))"
        case .pass(let device): ".pass(\(quoted(device)))"
        case .finish(let device): ".finish(\(quoted(device)))"
        case .fail(let device, let code): ".fail(\(quoted(device)), .\(code))"
        case .lose(let device): ".lose(\(quoted(device)))"
        case .cut(let device): ".cut(\(quoted(device)))"
        case .crash(let device): ".crash(\(quoted(device)))"
        case .crashAtEvent(let device, let event): ".crashAtEvent(\(quoted(device)), \(event))"
        case .restart: ".restart"
        case .restartDuring(let device): ".restartDuring(\(quoted(device)))"
        case .offline(let device): ".offline(\(quoted(device)))"
        case .online(let device): ".online(\(quoted(device)))"
        case .push(let device): ".push(\(quoted(device)))"
        case .repeatPush(let device): ".repeatPush(\(quoted(device)))"
        case .losePush(let device): ".losePush(\(quoted(device)))"
        case .signIn(let device, let account): ".signIn(\(quoted(device)), account: \(quoted(account)))"
        case .reinstall(let device): ".reinstall(\(quoted(device)))"
        case .advance(let seconds): ".advance(\(seconds))"
        case .forgetDeletions: ".forgetDeletions"
        case .purge(let account): ".purge(account: \(quoted(account)))"
        case .check: ".check"
        }
    }

    private func quoted(_ text: String) -> String { text.quoted }
}
