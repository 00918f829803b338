import AccountCrypto
import AccountTesting
import Testing

@testable import AccountKit

struct SealedKeyTests {
    private static let path = "/keys/Account.tpm"

    /// Three fields of 3, 1 and 2 bytes.
    private static let object: [UInt8] = [0, 3, 1, 2, 3, 0, 1, 4, 0, 2, 5, 6]
    private static let file: [UInt8] = Array("TPMK\r\n".utf8) + [0x1A, 0x0A, 0, 1] + object

    private func chip(failingWith failure: SecurityChip.Failure) -> SecurityChip {
        SecurityChip(
            seal: { _ throws(SecurityChip.Failure) in throw failure },
            unseal: { _ throws(SecurityChip.Failure) in throw failure })
    }

    @Test func `Writes the magic number, the version and the fields of the TPM`() throws {
        let chip = SecurityChip(seal: { _ in Self.object }, unseal: { _ in .random(count: 32) })
        #expect(try SealedKey(sealing: .random(count: 32), with: chip).bytes == Self.file)
        #expect(try SealedKey(parsing: Self.file, at: Self.path).object == Self.object)
    }

    @Test(arguments: [[], Array("TPMK\r\n".utf8), Array(repeating: 7, count: 32), Array(file.prefix(9))] as [[UInt8]])
    func `Refuses a file that is not a sealed key`(bytes: [UInt8]) {
        let error = expectAccountError(.damaged) { try SealedKey(parsing: bytes, at: Self.path) }
        #expect(error?.message.contains("/keys/Account.tpm is not a key that a TPM sealed") == true)
    }

    @Test(arguments: 10..<22)
    func `Refuses a truncated sealed key`(count: Int) {
        let bytes = Array(Self.file.prefix(count))
        let error = expectAccountError(.damaged) { try SealedKey(parsing: bytes, at: Self.path) }
        #expect(error?.message.contains("/keys/Account.tpm is damaged") == true)
    }

    @Test func `Refuses a sealed key with an empty field or more bytes than the fields`() {
        let header = Self.file.prefix(10)
        for bytes in [
            Self.file + [0], header + [0, 0, 0, 1, 4, 0, 1, 5], Self.file + [0, 1, 7],
            header + [0, 1, 2, 0, 1, 3, 0x10, 0] + [UInt8](repeating: 9, count: 4096),
        ] {
            expectAccountError(.damaged) { try SealedKey(parsing: Array(bytes), at: Self.path) }
        }
    }

    @Test(arguments: [[0, 0], [0, 2], [1, 1]] as [[UInt8]])
    func `Refuses a sealed key of an unknown version`(version: [UInt8]) {
        let bytes = Self.file.prefix(8) + version + Self.object
        expectAccountError(.unsupportedVersion) { try SealedKey(parsing: Array(bytes), at: Self.path) }
    }

    @Test(
        arguments: [
            (.notBuilt, "package trait TPM"), (.unreachable(device: "device:/dev/tpmrm0", reason: "r"), "/dev/tpmrm0"),
            (.refused(reason: "hierarchy is disabled"), "hierarchy is disabled"), (.otherChip, "key add tpm"),
        ] as [(SecurityChip.Failure, String)])
    func `Reports why the key cannot be unsealed and what to do`(failure: SecurityChip.Failure, text: String) throws {
        let key = try SealedKey(parsing: Self.file, at: Self.path)
        let error = try #require(
            expectAccountError(.noKey) { try key.key(from: chip(failingWith: failure), at: Self.path) })
        #expect("\(error)".contains(text))
        #expect(error.message.contains("/keys/Account.tpm"))
        #expect(error.message.contains("You are not signed out"))
        #expect(error.hint?.contains("open the archive with another of its keys") == true)
    }

    @Test func `Names the trait if a program without it seals a key`() {
        let error = expectAccountError(.noKey) {
            try SealedKey(sealing: .random(count: 32), with: chip(failingWith: .notBuilt))
        }
        #expect(error?.message == "a TPM key requires the package trait TPM, which this program was built without")
        #expect(error?.hint?.contains("--traits TPM") == true)
    }
}
