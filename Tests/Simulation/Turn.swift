import AccountKit

/// What a process asks of the world, and waits for.
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
        case .updateProfile(let account): "sends the profile of \(account.token)"
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
        case .verify, .connect, .refresh, .derive, .revoke, .signIn, .beginDevice, .poll, .identify, .updateProfile:
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

    /// Whether it spends something that cannot be spent again.
    var isExchange: Bool {
        switch self {
        case .refresh, .derive, .signIn, .poll: true
        default: false
        }
    }

    /// Whose refresh token is sent.
    var redeemed: Account? {
        switch self {
        case .refresh(let account), .derive(let account, .refresh): account
        default: nil
        }
    }
}

/// What comes of a call.
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

/// What is thrown at a process that has died, so that its tasks end. Nothing that it does then has any effect.
struct Died: Error {}

/// A call that waits: first until it is carried out, then until the process hears what came of it. In between anything
/// may happen, so that others see a change before the process knows that it was made.
final class Turn {
    let number: Int
    let process: SimulatedProcess
    let operation: Operation?
    let transaction: ProcessTransaction?
    let lease: ProcessLease?
    let call: Call
    let continuation: UnsafeContinuation<Result<Answer, any Error>, Never>

    /// `nil` until it was carried out.
    var answer: Result<Answer, any Error>?

    /// The step before which it is not carried out, or later its answer does not come, unless nothing else can happen.
    var dueStep = 0

    /// Whether it had to wait for a lock.
    var hasWaited = false

    /// When its process made it, by ``World/elapsed``.
    let start: Double

    /// Whether its process was stopped before it had left.
    var isUnsent = false

    var isUnsentToken: Bool { isUnsent && call.redeemed != nil }

    /// Decides, at the moment when a token leaves its process, whether it does.
    private let mayBeSent: (() -> Bool)?
    private(set) var hasLeft = false

    /// Whether it did not leave, since it must not be sent any more.
    private(set) var isWithheld = false

    /// The revision that the transaction's lock had then.
    let lockRevision: Int

    /// What the service did, or truly said, with `answer`.
    var truth: Truth?

    /// What was stored when it was read.
    var tokensRead: Tokens?

    enum Truth {
        /// New tokens in place of those with this number.
        case renewed(Tokens, from: Tokens)
        /// Tokens of a new sign-in.
        case issued(Tokens)
        /// These tokens are good for nothing any more.
        case refused(Tokens)
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

    /// Its first byte leaves the process, or must not any more.
    func leave() {
        guard !hasLeft else { return }
        hasLeft = true
        isWithheld = mayBeSent?() == false
        if call.redeemed != nil, !isWithheld { operation?.lease?.phase = .afterSending }
    }
}
