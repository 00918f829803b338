struct EtcdVersion: Sendable, Hashable {
    var major: Int
    var minor: Int
    var patch: Int

    /// The first version of each series with all fixes that AccountKit requires.
    static let fixed = [
        EtcdVersion(major: 3, minor: 4, patch: 42), EtcdVersion(major: 3, minor: 5, patch: 28),
        EtcdVersion(major: 3, minor: 6, patch: 9),
    ]

    private static let faults: [(text: String, fixedIn: [EtcdVersion])] = [
        (
            "a watch can lose events after a compaction",
            [EtcdVersion(major: 3, minor: 4, patch: 31), EtcdVersion(major: 3, minor: 5, patch: 13)]
        ),
        ("a watch can miss the removal of a key", [EtcdVersion(major: 3, minor: 4, patch: 36)]),
        ("a read can be stale after the node was paused", fixed),
        ("a user can do more than its role allows (CVE-2026-33413, CVE-2026-33343)", fixed),
    ]

    var faults: [String] {
        Self.faults.filter { $0.fixedIn.contains(where: isBefore) }.map(\.text)
    }

    /// The version of the same series with the fixes, or `nil` if this version has the fixes or its series is not
    /// known.
    var update: EtcdVersion? { Self.fixed.first(where: isBefore) }

    private func isBefore(_ other: EtcdVersion) -> Bool {
        (major, minor) == (other.major, other.minor) && patch < other.patch
    }
}

extension EtcdVersion: CustomStringConvertible {
    /// Parses a version such as `3.4.23` or `3.6.0-rc.1`. Returns `nil` if the text is not a version.
    init?(_ text: String) {
        let parts = text.prefix { $0 != "-" && $0 != "+" }.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int($0) }
        guard numbers.count == 3, parts.count == 3 else { return nil }
        self.init(major: numbers[0], minor: numbers[1], patch: numbers[2])
    }

    var description: String { "\(major).\(minor).\(patch)" }
}
