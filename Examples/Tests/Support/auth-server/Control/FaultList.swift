/// The faults that are in force, in the order in which they were given.
struct FaultList: Equatable, Sendable {
    private(set) var faults: [Fault] = []

    init(_ faults: [Fault] = []) {
        self.faults = faults
    }

    /// Takes the first fault for a request that has not run out, and counts it down.
    ///
    /// - Parameter status: the status of the real response; `nil` as long as there is none, when faults that depend on it are
    ///   passed over.
    mutating func take(for path: String, grantType: String? = nil, status: Int? = nil) -> Fault? {
        let index = faults.firstIndex { $0.times != 0 && $0.matches(path, grantType: grantType, status: status) }
        guard let index else { return nil }
        if let times = faults[index].times {
            faults[index].times = times - 1
        }
        return faults[index]
    }

    /// Whether a fault may apply once the real response is known.
    func needsStatus(for path: String, grantType: String?) -> Bool {
        faults.contains { $0.times != 0 && $0.matches(path, grantType: grantType, status: $0.ifStatus) }
    }
}
