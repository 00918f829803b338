/// The active faults, in the order in which they were added.
struct FaultList: Equatable, Sendable {
    private(set) var faults: [Fault] = []

    init(_ faults: [Fault] = []) {
        self.faults = faults
    }

    /// Adds faults after the active ones.
    mutating func add(_ more: [Fault]) { faults += more }

    /// Returns the first active fault for a request, and decrements its counters.
    ///
    /// - Parameter status: The status of the real response. With `nil`, which means that there is no response yet,
    ///   faults that depend on the status are skipped. Otherwise all other faults are skipped.
    mutating func take(
        for path: String,
        method: String? = nil,
        grantType: String? = nil,
        status: Int? = nil
    ) -> Fault? {
        for index in faults.indices
        where faults[index].times != 0
            && faults[index].matches(path, method: method, grantType: grantType, status: status)
        {
            guard faults[index].skip == 0 else {
                faults[index].skip -= 1
                continue
            }
            if let times = faults[index].times {
                faults[index].times = times - 1
            }
            return faults[index]
        }
        return nil
    }

    /// Whether a fault may apply once the real response is known.
    func needsStatus(for path: String, method: String?, grantType: String?) -> Bool {
        faults.contains {
            $0.ifStatus != nil && $0.times != 0
                && $0.matches(path, method: method, grantType: grantType, status: $0.ifStatus)
        }
    }
}
