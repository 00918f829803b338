import AccountCrypto
import AccountSupport

/// The content of a file with a sealed key: eight bytes that identify the format, its version in two bytes, and three
/// fields of the TPM, each after its length in two bytes. All numbers are big-endian.
///
/// The fields are the name of the primary key (TPM2B_NAME), and the public and the private part of the sealed object
/// (TPM2B_PUBLIC and TPM2B_PRIVATE).
struct SealedKey {
    static let maximumByteCount = 1024
    static let magic = Array("TPMK\r\n".utf8) + [0x1A, 0x0A]

    /// The three fields.
    let object: [UInt8]

    var bytes: [UInt8] { Self.magic + [0, 1] + object }

    init(sealing key: GuardedBytes, with chip: SecurityChip) throws(AccountError) {
        do throws(SecurityChip.Failure) {
            object = try chip.seal(key)
        } catch {
            throw AccountError(error, subject: "a TPM key", alternative: "add a key of another kind")
        }
    }

    init(parsing bytes: [UInt8], at path: String) throws(AccountError) {
        guard bytes.starts(with: Self.magic), bytes.count >= Self.magic.count + 2 else {
            throw AccountError(
                .damaged, "\(path) is not a key that a TPM sealed: AccountKit does not use or replace the file",
                hint: "move the file away")
        }
        let version = bytes[Self.magic.count...].prefix(2)
        guard version.elementsEqual([0, 1]) else {
            throw AccountError(
                .unsupportedVersion, "a later version sealed the key \(path)", hint: "update this program")
        }
        object = Array(bytes[(Self.magic.count + 2)...])
        var rest = object[...]
        for _ in 1...3 {
            let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            guard length > 0, rest.count >= 2 + length else { throw Self.damage(at: path) }
            rest = rest.dropFirst(2 + length)
        }
        guard rest.isEmpty, bytes.count <= Self.maximumByteCount else { throw Self.damage(at: path) }
    }

    func key(from chip: SecurityChip, at path: String) throws(AccountError) -> ArchiveKey {
        do throws(SecurityChip.Failure) {
            return ArchiveKey(guarded: try chip.unseal(object))
        } catch .damaged {
            throw Self.damage(at: path)
        } catch .otherChip {
            throw AccountError(
                .noKey,
                "the TPM of this machine does not unseal the key \(path): another TPM sealed it, or the TPM was cleared. "
                    + "You are not signed out",
                hint: "open the archive with another of its keys. If the TPM was cleared or replaced, run "
                    + "`rm \(path.shellWord)`, then `key remove tpm` and `key add tpm`")
        } catch {
            var unavailable = AccountError(
                error, subject: "the key \(path)", alternative: "open the archive with another of its keys")
            unavailable.message += ". You are not signed out"
            throw unavailable
        }
    }

    private static func damage(at path: String) -> AccountError {
        AccountError(
            .damaged, "the sealed key \(path) is damaged. You are not signed out",
            hint: "restore the file from a backup, or open the archive with another of its keys")
    }
}

extension AccountError {
    fileprivate init(_ failure: SecurityChip.Failure, subject: String, alternative: String) {
        switch failure {
        case .notBuilt:
            self.init(
                .noKey, "\(subject) requires the package trait TPM, which this program was built without",
                hint: "build it with `--traits TPM`, or \(alternative)")
        case .unreachable(let device, let reason):
            self.init(
                .noKey, "\(subject) requires a TPM, but none answers at \(device) (\(reason))",
                hint: "check that you may open the device (on Debian: the group `tss`), set TPM2TOOLS_TCTI to another "
                    + "TPM, or \(alternative)")
        case .refused(let reason):
            self.init(
                .noKey, "\(subject) requires the TPM, which refused a command (\(reason))",
                hint: "check that its owner hierarchy is enabled and has no password, or \(alternative)")
        case .otherChip, .damaged:
            preconditionFailure("only an existing key can be damaged, or of another TPM")
        }
    }
}
