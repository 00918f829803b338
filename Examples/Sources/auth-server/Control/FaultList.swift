/// The faults that are in force, in the order in which they were given.
struct FaultList: Equatable, Sendable {
    private(set) var faults: [Fault] = []

    init(_ faults: [Fault] = []) {
        self.faults = faults
    }

    /// Takes the first fault for this path that has not run out, and counts it down.
    mutating func take(for path: String) -> Fault? {
        guard let index = faults.firstIndex(where: { $0.matches(path) && $0.times != 0 }) else { return nil }
        if let times = faults[index].times {
            faults[index].times = times - 1
        }
        return faults[index]
    }
}
