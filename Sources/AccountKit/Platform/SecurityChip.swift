import AccountCrypto
import AccountSupport
import CAccountKitShims

/// A chip that seals keys, so that no other chip can unseal them.
struct SecurityChip: Sendable {
    enum Failure: Error {
        /// The program does not contain the code for this chip.
        case notBuilt
        case unreachable(device: String, reason: String)
        case refused(reason: String)

        /// Another chip sealed the key, or this chip was cleared since.
        case otherChip
        case damaged
    }

    /// Seals a key of 32 bytes.
    let seal: @Sendable (GuardedBytes) throws(Failure) -> [UInt8]
    let unseal: @Sendable ([UInt8]) throws(Failure) -> GuardedBytes

    /// The TPM 2.0 of this machine, or the one that the variable of tpm2-tools specifies.
    static let tpm = SecurityChip(
        seal: { key throws(Failure) in
            var object = [UInt8](repeating: 0, count: Int(ACCOUNTKIT_TPM_OBJECT_SIZE))
            var count = 0
            try call { device, reason in
                key.withUnsafeBytes {
                    accountkit_tpm_seal(device, $0.baseAddress!, &object, &count, reason)
                }
            }
            return Array(object.prefix(count))
        },
        unseal: { object throws(Failure) in
            try GuardedBytes(count: Int(ACCOUNTKIT_TPM_KEY_SIZE)) { key throws(Failure) in
                try call { device, reason in
                    accountkit_tpm_unseal(device, object, object.count, key.baseAddress!, reason)
                }
            }
        })

    /// The default is not the one of tpm2-tss, which also tries a simulator at a local port that any user can open.
    private static var device: String {
        Environment.value("TPM2TOOLS_TCTI") ?? Environment.value("TSS2_TCTI") ?? "device:/dev/tpmrm0"
    }

    private static func call(
        _ body: (_ device: String, _ reason: UnsafeMutablePointer<CChar>) -> Int32
    ) throws(Failure) {
        let device = device
        var status: Int32 = 0
        let reason = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(ACCOUNTKIT_TPM_REASON_SIZE)) { text in
            text.initialize(repeating: 0)
            status = body(device, text.baseAddress!)
            return String(cString: text.baseAddress!)
        }
        switch Int(status) {
        case ACCOUNTKIT_TPM_DONE: return
        case ACCOUNTKIT_TPM_NOT_BUILT: throw .notBuilt
        case ACCOUNTKIT_TPM_UNREACHABLE: throw .unreachable(device: device, reason: reason)
        case ACCOUNTKIT_TPM_OTHER: throw .otherChip
        case ACCOUNTKIT_TPM_DAMAGED: throw .damaged
        default: throw .refused(reason: reason)
        }
    }
}
