import Logging
import AccountCrypto
import AccountSupport
import Synchronization

/// The key sources of an archive, each of which opens the archive.
struct KeyRing: Sendable {
    typealias Match = (slot: KeySlot, opener: KeySlot.Opener, keys: ArchiveKeys)

    let sources: [any KeyProvider]
    private let context: SealingContext
    private let logger: Logger?

    private var isShared: Bool { context.isBoundToPlace }

    /// Keys for a new archive, which the user or a program provided before AccountKit acquired the lock.
    private let prepared = Prepared()

    private final class Prepared: Sendable {
        let keys = Mutex<[Int: ArchiveKey]>([:])
    }

    init(_ sources: [any KeyProvider], context: SealingContext, logger: Logger?) {
        self.sources = sources
        self.context = context
        self.logger = logger
    }

    // MARK: Opening

    func unlock(_ envelope: Envelope, isInteractive: Bool) async throws(AccountError) -> ArchiveKeys {
        try await match(for: envelope.slots, of: envelope, isInteractive: isInteractive).keys
    }

    /// Returns the first slot that a source opens. Sources that do not ask the user are tried first.
    func match(
        for slots: [KeySlot], of envelope: Envelope, isInteractive: Bool
    ) async throws(AccountError) -> Match {
        var failure: AccountError?
        var isLocked = false
        func note(_ error: AccountError) {
            logger?.debug("a key source does not open the archive", metadata: ["error": "\(error)"])
            failure = failure ?? error
        }
        let asked = sources.enumerated().filter { source in slots.contains { $0.kind == source.element.kind.slot } }
        for (index, source) in asked {
            let slots = slots.filter { $0.kind == source.kind.slot }
            do {
                let openers = try await unattendedOpeners(of: source, index, for: slots)
                if openers.isEmpty {
                    isLocked = true
                    continue
                }
                for opener in openers {
                    if let match = try firstMatch(of: slots, with: opener, of: envelope) { return match }
                }
                note(AccountError(EnvelopeError.authenticationFailed, isShared: isShared))
            } catch {
                note(error)
            }
        }
        for (_, source) in asked where isInteractive {
            let slots = slots.filter { $0.kind == source.kind.slot }
            for attempt in 1...3 {
                let key: ArchiveKey?
                do {
                    key = try await asking { try await source.keyFromUser(attempt: attempt) }
                } catch {
                    // If the user cannot be asked, the error of another source is more helpful.
                    throw error.code == .noKey ? failure ?? error : error
                }
                guard let key else { break }
                for slot in slots {
                    let opener = try await opener(of: key, for: slot)
                    if let match = try firstMatch(of: [slot], with: opener, of: envelope) { return match }
                }
                note(
                    AccountError(
                        .wrongKeyOrDamaged,
                        "Account.plist does not open with this passphrase. You are not signed out; try again"))
            }
        }
        guard var failure else { throw noKey(for: slots) }
        // The key that is missing may be the right one.
        if isLocked { failure.cause = failure.cause ?? MissingKey.locked }
        throw failure
    }

    private func unattendedOpeners(
        of source: any KeyProvider, _ index: Int, for slots: [KeySlot]
    ) async throws(AccountError) -> [KeySlot.Opener] {
        if source.kind == .passphrase {
            let unlocked = slots.compactMap { slot in
                UnlockedKeys.key(of: slot.keyID).map { KeySlot.Opener.derived($0, keyID: slot.keyID) }
            }
            if !unlocked.isEmpty { return unlocked }
        }
        // A sign-in has asked the user for a key of the new archive, which may be that of the last one.
        let known = prepared.keys.withLock { $0[index] }
        guard let key = if let known { known } else { try await asking({ try await source.key() }) } else { return [] }
        var openers: [KeySlot.Opener] = []
        for slot in slots { openers.append(try await opener(of: key, for: slot)) }
        return openers
    }

    func opener(of key: ArchiveKey, for slot: KeySlot) async throws(AccountError) -> KeySlot.Opener {
        guard case .passphrase(let passphrase) = key.opener, slot.kind == .passphrase else { return key.opener }
        return try await sealing(takesLong: true) { () throws(EnvelopeError) in
            .derived(try slot.derivedKey(of: passphrase), keyID: slot.keyID)
        }
    }

    private func firstMatch(
        of slots: [KeySlot], with opener: KeySlot.Opener, of envelope: Envelope
    ) throws(AccountError) -> Match? {
        for slot in slots {
            do throws(EnvelopeError) {
                return (slot, opener, try envelope.unlock(slot, with: opener, context: context))
            } catch .authenticationFailed {
                continue
            } catch {
                throw AccountError(error, isShared: isShared)
            }
        }
        return nil
    }

    private func noKey(for slots: [KeySlot]) -> AccountError {
        let kinds = Set(slots.map { KeyKind($0.kind) })
        guard sources.contains(where: { kinds.contains($0.kind) }) else {
            let ways = kinds.map(\.text).sorted().joined(separator: " or ")
            return AccountError(
                .noKey,
                "Account.plist opens with \(ways), but no such key is set up here",
                hint: "add the key again (`key add`)")
        }
        let places = sources.compactMap(\.place).joined(separator: " or ")
        if isShared {
            return AccountError(
                .noKey,
                "there is an archive in the shared store, but this machine has no key to open it. You are not signed out, "
                    + "and nothing was changed; install the key that the other machines use "
                    + (places.isEmpty ? "here" : places))
        }
        let restore = "restore the key" + (places.isEmpty ? "" : " \(places)")
        let isLost = kinds == [.keyFile] && sources.compactMap { $0 as? KeyFile }.allSatisfy(\.isInContainer)
        // A new archive would need the key in the environment too.
        let hasVariable = sources.contains { $0.kind == .environment }
        return AccountError(
            .noKey, "there is an account archive, but no key to open it",
            hint: hasVariable ? restore : "\(restore), or sign in again",
            cause: isLost ? MissingKey.lost : nil)
    }

    // MARK: New archives

    /// Asks the user for the keys of a new archive before AccountKit acquires the lock, so that other processes do not
    /// wait for the user.
    func prepare() async throws(AccountError) {
        try checkCount()
        var missing: [any KeyProvider] = []
        for source in sources where !source.asksOutside {
            if try await asking({ try await source.key() }) == nil { missing.append(source) }
        }
        for (index, source) in sources.enumerated() where source.asksOutside {
            guard prepared.keys.withLock({ $0[index] }) == nil else { continue }
            let key = try await made(source)
            prepared.keys.withLock { $0[index] = key }
        }
        // Create files last: if another key is missing, nothing has changed.
        for isFile in [false, true] {
            for source in missing where (source.kind == .keyFile) == isFile {
                _ = try await asking { try await source.makeKey() }
            }
        }
    }

    /// Returns keys with a new lineage and a new data key, which each source opens. If a source has no key yet, the
    /// source creates one.
    func makeKeys(at date: Date) async throws(AccountError) -> ArchiveKeys {
        try checkCount()
        var slots: [ArchiveKeys.NewSlot] = []
        for (index, source) in sources.enumerated() {
            let known = prepared.keys.withLock { $0.removeValue(forKey: index) }
            let key = if let known { known } else { try await made(source) }
            // Make the key durable first, because the archive could not be opened without it.
            try await settle(source)
            slots.append(newSlot(for: key, of: source, at: date))
        }
        let (newSlots, context) = (slots, context)
        return try await sealing(takesLong: newSlots.contains { $0.kind == .passphrase }) { () throws(EnvelopeError) in
            try ArchiveKeys(for: newSlots, context: context)
        }
    }

    private func checkCount() throws(AccountError) {
        guard ArchiveKeys.slotCounts.contains(sources.count) else {
            throw AccountError(
                .invalidArgument,
                "an archive has 1 to \(ArchiveKeys.slotCounts.upperBound) keys, and \(sources.count) are set up: \(sources.isEmpty ? "add one" : "remove some")"
            )
        }
    }

    private func newSlot(for key: ArchiveKey, of source: any KeyProvider, at date: Date) -> ArchiveKeys.NewSlot {
        ArchiveKeys.NewSlot(
            opener: key.opener, kind: source.kind.slot,
            created: UInt32(clamping: Int64(date.timeIntervalSince1970)), cost: key.cost)
    }

    func adding(
        _ key: ArchiveKey, of source: any KeyProvider, to keys: ArchiveKeys, at date: Date
    ) async throws(AccountError) -> ArchiveKeys {
        let (slot, context) = (newSlot(for: key, of: source, at: date), context)
        return try await sealing(takesLong: slot.kind == .passphrase) { () throws(EnvelopeError) in
            try keys.adding(slot, context: context)
        }
    }

    func settle(_ source: any KeyProvider) async throws(AccountError) {
        try await asking { try await (source as? KeyFile)?.settle() }
    }

    private func made(_ source: any KeyProvider) async throws(AccountError) -> ArchiveKey {
        if let key = try await asking({ try await source.key() }) { return key }
        return try await asking { try await source.makeKey() }
    }

    private func asking<Value>(_ body: () async throws -> Value) async throws(AccountError) -> Value {
        do {
            return try await body()
        } catch {
            throw AccountError(
                wrapping: error, cancelled: "cancelled while waiting for a key: nothing was changed",
                failure: "the key could not be read")
        }
    }

    private func sealing<Value: Sendable>(
        takesLong: Bool, _ body: @escaping @Sendable () throws(EnvelopeError) -> Value
    ) async throws(AccountError) -> Value {
        do {
            return takesLong ? try await BlockingWork.run(body) : try body()
        } catch {
            throw AccountError(error, isShared: isShared)
        }
    }
}

/// The cause of an error about an archive that does not open, if a key was missing.
package enum MissingKey: Error {
    /// Only a key file in the container opens the archive. Unlike a passphrase, a program or a file on another disk, such a
    /// file does not come back unless the user restores it.
    case lost

    /// One key was wrong, and another one was missing, which may open the archive.
    case locked
}
