/// The faults that are in force, in the order in which they were given.
struct FaultList: Equatable, Sendable {
    private(set) var faults: [Fault] = []

    init(_ faults: [Fault] = []) {
        self.faults = faults
    }

    /// Adds faults, which come after those that are in force.
    mutating func add(_ more: [Fault]) { faults += more }

    /// Takes the first fault for a request that has not run out, and counts it down.
    ///
    /// - Parameter status: the status of the real response; `nil` as long as there is none, when faults that depend on it are
    ///   passed over, as are all others later.
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
