import AccountCrypto

/// A key that the app itself keeps. In the archive, it has the slot of a key from a program.
struct CustomKey: KeyProvider {
    let read: @Sendable () async throws -> Secret?
    let save: (@Sendable (Secret) async throws -> Void)?

    var kind: KeyKind { .command }

    func key() async throws -> ArchiveKey? {
        guard let text = try await read() else { return nil }
        do {
            return try ArchiveKey(text: text)
        } catch {
            throw AccountError(.noKey, "the app keeps something other than a key: \(error.message)")
        }
    }

    func makeKey() async throws -> ArchiveKey {
        guard let save else {
            throw AccountError(
                .misconfigured, "there is no key for the archive, and this program does not create one",
                hint: "store a key where the program reads it")
        }
        try await save(Secret(GuardedBytes.random(count: 32).keyText, range: 0..<44))
        // Another process may have saved its key first.
        guard let key = try await key() else {
            throw AccountError(.inaccessible, "the app saved a key for the archive, but cannot read it")
        }
        return key
    }
}
