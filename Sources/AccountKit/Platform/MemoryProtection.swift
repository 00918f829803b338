import Sealing

/// What keeps tokens and keys in memory from others.
package enum MemoryProtection {
    /// What is not as it should be, and what to do; `nil` if all is well.
    package static func problem() -> (problem: String, advice: String)? {
        guard !MemoryLock.isAvailable() else { return nil }
        return (
            "memory cannot be locked here, so tokens may be swapped to disk",
            ": raise the limit (`ulimit -l`, or LimitMEMLOCK= of a service)"
        )
    }
}
