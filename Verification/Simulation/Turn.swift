import AccountKit

/// A call from a process to the world.
enum Call: Sendable {
    case read(ArchiveEntry)
    case begin
    case lease(isPatient: Bool)
    case reserve(ArchiveEntry)
    case replace(ArchiveEntry, [UInt8], ArchiveRevision?)
    case remove(ArchiveEntry, ArchiveRevision)
    case quarantine(ArchiveEntry, String)
    case restore(ArchiveEntry, String)
    case verify(Account)
    case connect(Account)
    case refresh(Account)
    case derive(Account, TokenDerivation)
    case revoke(Account)
    case signIn(String, client: String)
    case beginDevice
    case poll(String, client: String)
    case identify(Credentials)
    case sleep
    case updateProfile(Account)
    case callAPI(Account)

    var text: String {
        switch self {
        case .read(let entry): "reads \(entry.rawValue)"
        case .begin: "takes the lock"
        case .lease: "takes the lease of a refresh"
        case .reserve: "reserves space"
        case .replace(let entry, _, _): "writes \(entry.rawValue)"
        case .remove(let entry, _): "removes \(entry.rawValue)"
        case .quarantine(let entry, _): "sets \(entry.rawValue) aside"
        case .restore(let entry, _): "puts \(entry.rawValue) back"
        case .verify(let account): "asks whose \(account.token) is"
        case .connect: "connects to the service"
        case .refresh(let account): "asks for new tokens for \(account.token)"
        case .derive(let account, _): "asks for a token for another API with \(account.token)"
        case .revoke(let account): "tells the service that \(account.token) is signed out"
        case .signIn(let user, let client): "asks to sign in as \(user), with \(client)"
        case .beginDevice: "asks for a code"
        case .poll(let user, _): "asks whether \(user) has entered the code"
        case .identify(let credentials): "asks whose \(credentials.token) is"
        case .sleep: "waits a while"
        case .callAPI(let account): "calls an API with \(account.token)"
        case .updateProfile(let account): "sends the profile of \(account.token)"
        }
    }

    /// The account whose tokens the service receives.
    var account: Account? {
        switch self {
        case .verify(let account), .refresh(let account), .derive(let account, _), .revoke(let account),
            .updateProfile(let account), .callAPI(let account):
            account
        default: nil
        }
    }

    var isWrite: Bool {
        switch self {
        case .replace, .remove, .quarantine, .restore: true
        default: false
        }
    }

    var isRequest: Bool {
        switch self {
        case .verify, .connect, .refresh, .derive, .revoke, .signIn, .beginDevice, .poll, .identify, .updateProfile,
            .callAPI:
            true
        default: false
        }
    }

    var isOfAccount: Bool {
        switch self {
        case .read(.account), .replace(.account, _, _), .remove(.account, _), .quarantine, .restore: true
        default: false
        }
    }

    /// Whether the call spends a code, a password or a refresh token.
    var isExchange: Bool {
        switch self {
        case .refresh, .derive, .signIn, .poll: true
        default: false
        }
    }

    /// The account whose refresh token the call sends.
    var redeemed: Account? {
        switch self {
        case .refresh(let account), .derive(let account, .refresh): account
        default: nil
        }
    }
}

/// The result of a call.
enum Answer: Sendable {
    case done
    case entry(StoredEntry?)
    case receipt(ArchiveReceipt)
    case place(String)
    case identity(Identity)
    case credentials(Credentials)
    case account(Account)
    case revocation(RevocationOutcome)
}

/// The error that ends the tasks of a process that has died, whose actions have no effect.
struct Died: Error {}

/// A call that waits, first until the world carries out the call, then until the process receives the result. Other turns can be taken in
/// between, so other processes can read a change before its sender receives the result.
final class Turn {
    let number: Int
    let process: SimulatedProcess
    let operation: Operation?
    let transaction: ProcessTransaction?
    let lease: ProcessLease?
    let call: Call
    let continuation: UnsafeContinuation<Result<Answer, any Error>, Never>

    /// `nil` until the world has carried the call out.
    var answer: Result<Answer, any Error>?

    /// The step before which the request, and later its response, does not arrive, unless nothing else can happen.
    var dueStep = 0

    /// Whether the call had to wait for a lock.
    var hasWaited = false

    /// The time of the call, by ``World/elapsed``.
    let start: Double

    /// Whether the process was stopped before it sent the call.
    var isUnsent = false

    var isNotRenewed: Bool { if case .notRenewed = truth { true } else { false } }

    var isUnsentToken: Bool { isUnsent && call.redeemed != nil }

    /// Decides whether a token may be sent, at the moment when it is about to leave the process.
    private let mayBeSent: (() -> Bool)?
    private(set) var hasLeft = false

    /// Whether the token did not leave the process, because it must no longer be sent.
    private(set) var isDisallowed = false

    /// The revision of the transaction's lock at the time of the call.
    let lockRevision: Int

    /// The actual result at the service.
    var truth: Truth?

    /// The stored tokens at the time of the read.
    var tokensRead: Tokens?

    enum Truth {
        /// The service issued new tokens in exchange for earlier tokens.
        case renewed(Tokens, from: Tokens)
        /// The service issued tokens of a new sign-in.
        case issued(Tokens)
        /// The service rejected these tokens as no longer valid.
        case refused(Tokens)
        /// The service does not renew the sign-in of these tokens, and has not ended it.
        case notRenewed(Tokens)
    }

    init(
        number: Int, process: SimulatedProcess, transaction: ProcessTransaction?, lease: ProcessLease?, call: Call,
        if mayBeSent: (() -> Bool)?, continuation: UnsafeContinuation<Result<Answer, any Error>, Never>
    ) {
        self.mayBeSent = mayBeSent
        self.number = number
        self.process = process
        operation = Operation.current
        self.transaction = transaction
        self.lease = lease
        self.call = call
        self.continuation = continuation
        start = process.world.elapsed
        lockRevision = transaction?.lockRevision ?? 0
    }

    /// Sends the first byte of the call, unless its token must no longer be sent.
    func leave() {
        guard !hasLeft else { return }
        hasLeft = true
        isDisallowed = mayBeSent?() == false
        if call.redeemed != nil, !isDisallowed { operation?.lease?.phase = .afterSending }
    }
}
