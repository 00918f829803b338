import AccountCrypto

package enum MemoryProtection {
    package static func problem() -> (problem: String, advice: String)? {
        guard !Sodium.canLockMemory() else { return nil }
        return (
            "memory cannot be locked here, so tokens may be swapped to disk",
            ": raise the limit (`ulimit -l`, or LimitMEMLOCK= of a service)"
        )
    }
}
