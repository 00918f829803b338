import AccountKit
import AccountCrypto
import Synchronization

/// A key of 32 equal bytes, of any kind except a passphrase.
struct TestKey: KeyProvider {
    let kind: KeyKind
    private let before: @Sendable () async throws -> Void
    private let byte: @Sendable () throws -> UInt8

    init(
        _ kind: KeyKind, before: @escaping @Sendable () async throws -> Void = {},
        byte: @escaping @Sendable () throws -> UInt8
    ) {
        self.kind = kind
        self.before = before
        self.byte = byte
    }

    init(_ kind: KeyKind, _ byte: UInt8) { self.init(kind) { byte } }

    init(_ kind: KeyKind, failingWith error: AccountError) { self.init(kind) { throw error } }

    func key() async throws -> ArchiveKey? {
        try await before()
        return try ArchiveKey(bytes: [UInt8](repeating: try byte(), count: 32))
    }

    func makeKey() async throws -> ArchiveKey { try await key()! }
}

/// A user who answers passphrase prompts with these answers in order, and then cancels.
final class Person: Sendable {
    private let state: Mutex<(answers: [String], questions: [PassphraseQuestion])>

    init(_ answers: String...) { state = Mutex((answers, [])) }

    var questions: [PassphraseQuestion] { state.withLock { $0.questions } }

    static let cost = PassphraseCost(operations: 1, memoryKiB: 8 * 1024)!

    var key: PassphraseKey {
        PassphraseKey(cost: Self.cost) { [self] question in
            let answer = state.withLock { state in
                state.questions.append(question)
                return state.answers.isEmpty ? nil : state.answers.removeFirst()
            }
            guard let answer else { throw AccountError(.cancelled, "interrupted") }
            return Secret(answer)
        }
    }
}
